"""Tagging on many machines; what needs Ray imports it when it is used."""

from skipchain.cluster.batch_tagger import BatchTagger

__all__ = ["BatchTagger"]
