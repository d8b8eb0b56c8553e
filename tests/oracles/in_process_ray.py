"""As much of Ray as training uses, in this process: what is asked for is done at once."""

from __future__ import annotations

import pickle
from types import SimpleNamespace


class TaskError(Exception):
    """What Ray raises for an error of a task."""

    def __init__(self, cause):
        super().__init__(str(cause))
        self.cause = cause


class NeverRaised(Exception):
    """Workers are not lost here."""


class Reference:
    """A result, pickled as it would be on its way."""

    def __init__(self, value=None, error=None):
        self.data, self.error = pickle.dumps(value), error

    def get(self):
        if self.error is not None:
            raise TaskError(pickle.loads(pickle.dumps(self.error)))
        return pickle.loads(self.data)


class Method:
    def __init__(self, function, parts=1):
        self.function, self.parts = function, parts

    def options(self, num_returns):
        return Method(self.function, num_returns)

    def remote(self, *arguments):
        try:
            values = [a.get() if isinstance(a, Reference) else a for a in arguments]
            result = self.function(*pickle.loads(pickle.dumps(values)))
        except Exception as error:
            failed = Reference(error=getattr(error, "cause", error))
            return [failed] * self.parts if self.parts > 1 else failed
        return [Reference(own) for own in result] if self.parts > 1 else Reference(result)


class Actor:
    def __init__(self, instance):
        self.instance = instance

    def __getattr__(self, name):
        return Method(getattr(self.instance, name))


class InProcessRay:
    """Stands in for the module ``ray``."""

    exceptions = SimpleNamespace(
        RayTaskError=TaskError,
        RayError=NeverRaised,
        RayActorError=NeverRaised,
        ObjectLostError=NeverRaised,
        WorkerCrashedError=NeverRaised,
        GetTimeoutError=NeverRaised,
    )

    def __init__(self, processors=8):
        self.processors = processors

    def is_initialized(self):
        return True

    def cluster_resources(self):
        return {"CPU": self.processors}

    def put(self, value):
        return Reference(value)

    def get(self, references, timeout=None):
        if isinstance(references, list):
            return [own.get() for own in references]
        return references.get()

    def kill(self, actor):
        actor.instance = None

    def remote(self, kind=None, **options):
        if kind is None:
            return lambda function: SimpleNamespace(remote=lambda: Reference(function()))
        make = SimpleNamespace(remote=lambda *arguments: Actor(kind(*arguments)))
        return SimpleNamespace(options=lambda **how: make)
