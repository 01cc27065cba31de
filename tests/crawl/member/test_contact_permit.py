"""Contacts while a worker holds its lease, and at its end."""

import asyncio

from gossamer.clock import boot_time
from gossamer.cluster.lease import Lease, LeaseTerms
from gossamer.crawl.member.contact_permit import LeasePermit
from gossamer.model.outcome import Failed, FetchOutcome


def test_a_contact_waits_for_the_first_heartbeat() -> None:
    async def check() -> None:
        lease = Lease(LeaseTerms())
        waiting = asyncio.ensure_future(LeasePermit(lease).wait_for_permit())
        await asyncio.sleep(0)
        assert not waiting.done()

        lease.renew(boot_time())

        await asyncio.wait_for(waiting, 10)

    asyncio.run(check())


def test_a_contact_is_cut_off_at_the_end_of_the_lease() -> None:
    async def check() -> None:
        lease, sent = Lease(LeaseTerms()), asyncio.Event()
        lease.renew(boot_time())
        permit = LeasePermit(lease)

        async def request() -> FetchOutcome:
            sent.set()
            await asyncio.Event().wait()
            raise AssertionError

        contact = asyncio.ensure_future(permit.send(request()))
        await sent.wait()
        permit.cut_off_at_end()
        await asyncio.sleep(0)
        assert not contact.done()

        lease.revoke()
        permit.cut_off_at_end()

        outcome = await contact
        assert isinstance(outcome, Failed)
        assert outcome.contacted

    asyncio.run(check())


def test_nothing_is_sent_after_the_end_of_the_lease() -> None:
    async def request() -> FetchOutcome:
        raise AssertionError

    outcome = asyncio.run(LeasePermit(Lease(LeaseTerms())).send(request()))

    assert isinstance(outcome, Failed)


def test_a_visit_that_is_cancelled_cancels_its_request() -> None:
    async def check() -> bool:
        lease, sent, cancelled = Lease(LeaseTerms()), asyncio.Event(), asyncio.Event()
        lease.renew(boot_time())

        async def request() -> FetchOutcome:
            sent.set()
            try:
                await asyncio.Event().wait()
            finally:
                cancelled.set()
            raise AssertionError

        contact = asyncio.ensure_future(LeasePermit(lease).send(request()))
        await sent.wait()
        contact.cancel()
        await asyncio.wait_for(cancelled.wait(), 10)
        await asyncio.wait([contact])
        return contact.cancelled()

    assert asyncio.run(check())
