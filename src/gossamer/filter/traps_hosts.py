"""How many more hosts of a domain may be contacted, by what the others have shown. Decisions only."""

import json
from dataclasses import dataclass

from gossamer.filter.traps_budget import HOSTS, LOOKED_AT, Cut, TrapPolicy, breeding


@dataclass(slots=True)
class DomainBudget:
    """The account of a registrable domain's hosts: each costs one when it is first contacted, and earns two when it
    shows something new."""

    credit: float
    hosts: int = 0
    new: int = 0
    looked_at: int = 0
    links_new: int = 0  # from one host of the domain to another, to URLs that nobody knew
    links_known: int = 0
    cut: str | None = None

    def admit(self) -> bool:
        """Whether one more host of the domain may be contacted."""
        if self.cut is None and self.credit <= 0:
            self.cut = HOSTS
        if self.cut is not None:
            return False
        self.hosts += 1
        self.credit -= 1.0
        return True

    def brought_something(self, policy: TrapPolicy) -> None:
        """A host has shown its first new page."""
        self.new += 1
        self.credit = min(float(policy.hosts_per_domain), self.credit + 2.0)

    def saw_links(self, new: int, known: int, policy: TrapPolicy) -> None:
        """The links of a page to other hosts of its domain. As with shapes: hosts that breed were made by nobody."""
        self.looked_at += 1
        self.links_new += new
        self.links_known += known
        if (
            self.looked_at >= LOOKED_AT
            and 2 * self.hosts >= policy.hosts_per_domain
            and breeding(self.looked_at, self.links_new, self.links_known)
        ):
            self.cut = HOSTS

    def cut_of(self, domain: str) -> Cut:
        """Why no further host of the domain is contacted."""
        text = f"{self.hosts} hosts contacted, {self.new} of them with something new, credit {self.credit:g}"
        if self.looked_at:
            text += f"; {self.looked_at} pages link to {self.links_new} new and {self.links_known} known URLs of others"
        return Cut(HOSTS, f"*.{domain}", text)

    def to_text(self) -> str:
        return json.dumps(
            [round(self.credit, 1), self.hosts, self.new, self.looked_at, self.links_new, self.links_known, self.cut]
        )

    @classmethod
    def from_text(cls, text: str, policy: TrapPolicy) -> "DomainBudget":
        try:
            return cls(*json.loads(text))
        except (ValueError, TypeError):
            return cls(float(policy.hosts_per_domain))
