"""Exceptions of Broadleaf. Their messages are those of the command."""


class BroadleafError(Exception):
    """The base of all exceptions that Broadleaf raises itself."""


class InvalidInput(BroadleafError, ValueError):
    """Arguments, a trace or another file are wrong. The command ends with exit status 2."""


class WorkFailed(BroadleafError, RuntimeError):
    """The work itself failed. The command ends with exit status 1."""


for _class in (BroadleafError, InvalidInput, WorkFailed):
    # Tracebacks show the name that users import.
    _class.__module__ = "broadleaf"
