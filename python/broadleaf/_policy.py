"""Policies as Python classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from ._broadleaf import View


class Policy:
    """The base of policies that are Python classes.

    The engine makes one object of the class for each comparison, and calls ``decide`` at each decision point: at
    faults, first stores, scans and misses. The answer may depend on the point and the view alone. The engine may call
    from any thread, one call at a time.

    A policy that ends with an exception ends the comparison, and the exception is raised with its traceback.

    ``needs`` says what the policy requires of the host. A text is the name of a policy of the catalogue, whose
    requirements are taken: ``"linux"``. A dict has any of these keys; ``like`` is such a name, whose requirements the
    other keys change.

    ========================== ================================================================
    ``asked_at_age``           ask at ``due`` when a reservation has this age, in accesses
    ``placement``              ``"reserved"`` (an extent for each block) or ``"at_fault"``
    ``sizes``                  superpage sizes: ``"2m"``, ``"64k+2m"``, ``"all"``, or bytes
    ``copies``                 promotions that copy: ``"never"``, ``"scattered"``, ``"always"``
    ``scan``                   a daemon: ``period`` (accesses), ``pages``, ``promotions``, ``order``
    ``charges``                ask at ``miss``: any of ``"misses"``, ``"prefetch"``, ``"capacity"``
    ``asked_when_short``       ask at ``short`` (true or false)
    ``asked_when_freed``       ask at ``freed`` (true or false)
    ``asked_when_used_again``  ask at ``used_again`` (true or false)
    ========================== ================================================================

    Other keys are those of ``Needs`` in ``crates/policy/src/needs.rs`` whose values are numbers or truth values.

    >>> class Half(Policy):
    ...     def decide(self, point, view):
    ...         if view.promoted or view.reservation_age is None:
    ...             return "pass"
    ...         return "promote" if view.populated >= view.pages // 2 else "too_few_resident"
    """

    name: ClassVar[str | None] = None
    """The name in results: letters, digits, ``-`` and ``_``. ``None`` takes the name of the class."""

    needs: ClassVar[Mapping[str, Any] | str | None] = None
    """The requirements on the host, beyond questions at faults and first stores.

    A name of the catalogue, or a dict: ``help(broadleaf.Policy)`` has the keys.
    """

    def decide(self, point: str, view: View) -> str:
        """Decides about a block.

        Parameters
        ----------
        point
            The decision point: ``"fault"``, ``"first_store"``, ``"due"``, ``"store_to_clean_superpage"``, ``"scan"``,
            ``"short"``, ``"freed"``, ``"used_again"`` or ``"miss"``.
        view
            The state of the block.

        Returns
        -------
        str
            ``"promote"``, ``"demote"``, ``"pass"``, or the name of a refusal, which results count
            (``broadleaf.names("refusals")``).
        """
        raise NotImplementedError(f"{type(self).__name__} has no method decide(point, view)")

    def effort(self, point: str, view: View) -> str:
        """The effort to obtain an extent of frames if none is free: ``"none"``, ``"later"`` or ``"now"``.

        ``point`` and ``view`` are those of :meth:`decide`.
        """
        return "none"

    def rank(self, view: View) -> int:
        """The rank of the block ``view`` in a scan whose ``order`` is ``"by_rank"`` or ``"fair"``.

        High ranks are promoted first.
        """
        return 0

    def may_be_due(self, view: View) -> bool:
        """False if the block ``view``, with its charges, need not be asked about at ``miss``."""
        return True
