"""Models: estimators, and the artefact that fitting leaves."""
