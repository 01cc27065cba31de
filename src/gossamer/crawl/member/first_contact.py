"""The first contact of hosts whose partition was taken over from another worker."""

from gossamer.cluster.handover import RestPolicy, first_contact
from gossamer.cluster.lease import LeaseTerms
from gossamer.config.hosts import HostSettingsTable
from gossamer.crawl.member.ownership import PartitionOwnership
from gossamer.fetch.robots import parse_robots
from gossamer.frontier.politeness import Contact, PolitenessPolicy, gap_after
from gossamer.model.batch import RobotsRecord
from gossamer.model.loads import HostLoaded
from gossamer.model.partition import ID_BITS
from gossamer.model.task import HostRecord
from gossamer.model.units import Instant, Seconds


def rest_policy_for(politeness: PolitenessPolicy, terms: LeaseTerms) -> RestPolicy:
    """How long hosts rest whose last worker has died: the longest delay that a contact may require by itself."""
    adaptive = politeness.max_adaptive_delay if politeness.load_factor > 0 else Seconds(0.0)
    return RestPolicy(Seconds(max(politeness.min_delay, adaptive)), terms.ttl)


class FirstContacts:
    """When hosts that are loaded may be contacted first by this worker."""

    def __init__(
        self,
        ownership: PartitionOwnership,
        policy: RestPolicy,
        politeness: PolitenessPolicy,
        hosts: HostSettingsTable,
        agent: str,
    ) -> None:
        """`agent`: the name by which robots.txt files address the crawler."""
        self._ownership, self._hosts = ownership, hosts
        self._policy, self._politeness, self._agent = policy, politeness, agent

    def loaded(self, host: HostLoaded) -> HostLoaded:
        """The host, with the date of its first contact by this worker."""
        record = host.record
        partition = host.host_id >> ID_BITS
        if record is None or not self._ownership.owns(partition):
            return host
        released, taken = self._ownership.taken(partition)
        gap = self._gap_of(record, host.robots)
        first = first_contact(self._policy, released, next_contact=record.next_contact, taken=taken, gap=gap)
        return host if first == record.next_contact else host._replace(record=record._replace(next_contact=first))

    def _gap_of(self, record: HostRecord, robots: list[RobotsRecord]) -> Seconds:
        delays = [parse_robots(answer.body, self._agent).crawl_delay for answer in robots]
        crawl_delay = max((delay for delay in delays if delay is not None), default=None)
        min_delay = self._hosts.for_host(record.host).min_delay
        contact = Contact(Instant(0.0), Seconds(record.last_took), crawl_delay, min_delay=min_delay)
        return gap_after(self._politeness, contact)[0]
