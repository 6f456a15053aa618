"""The clock on PostgreSQL: entries packed by time into rows of arrays, in two levels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from operator import attrgetter
from typing import NamedTuple

from onthedot.core.firing import GRAIN, Plan
from onthedot.core.instants import MINUTE, SECOND, Instant
from onthedot.core.model import Cut, Definition, Entry, LeasedRun, NewRun, Record, Rule, rule_of
from onthedot.errors import Taken
from onthedot.store.claims import Lessee, Peeked
from onthedot.store.codec import STATUS_CODES, rule_from, rule_text
from onthedot.store.postgres.database import Connection, PostgresDatabase, numbers
from onthedot.store.postgres.statements import SQL

NEAR_US = GRAIN
"""A near slot ends with its last instant: a multiple of this belongs to the slot before it."""
FAR_US = MINUTE
SPLIT_AHEAD_US = 2 * MINUTE
"""A far slot is split at least so long before it begins."""

RESCAN_US = SECOND
"""How often a peek begins at the oldest entry again, to find what was added behind its cursor."""

KNOWN_MAX = 10_000
"""The numbers of so many rules are remembered, and then no more: most jobs say what many say."""

_PLACE = attrgetter("slot", "shard", "id")


def near_slot(due: Instant) -> int:
    return (due - 1) // NEAR_US


def due_slots(until: Instant) -> dict[str, int]:
    """The last slots of both levels in which something may be due by then."""
    return {"near": near_slot(until), "far": until // FAR_US}


class PackedRow(NamedTuple):
    """One row of the near level, as it was read."""

    shard: int
    slot: int
    id: int
    jobs: list[int]
    versions: list[int]
    dues: list[int]
    rules: list[int]

    def entries(self) -> Iterator[Entry]:
        columns = zip(repeat(self.shard), self.dues, self.jobs, self.versions, self.rules)
        return map(Entry._make, columns)


class Source(NamedTuple):
    """Where the entries of a peek lie: these rows hold them, and perhaps some that are not due.
    `server`: the one they were read from.
    """

    rows: list[PackedRow]
    held: list[Entry]
    server: int | None = None

    def of(self, taken: Sequence[Entry]) -> Source:
        """The part that holds these entries. Usually they are all that was read."""
        if taken == self.held:
            return self
        wanted = set(taken)
        rows = [row for row in self.rows if not wanted.isdisjoint(row.entries())]
        held = [entry for row in rows for entry in row.entries()]
        if not wanted.issubset(held):
            raise Taken("these entries were not read by the peek that the plan was made from")
        return Source(rows, held, self.server)


class PostgresClock:
    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self._split_until: dict[int, Instant] = {}
        self._low: dict[int, int] = {}
        self._scanned_at: Instant = 0
        database.memory.on_moved.append(self._forget)

    def _forget(self) -> None:
        self._split_until.clear()
        self._low.clear()
        self.rescan()

    def rescan(self) -> None:
        """Something was added: the next peek begins at the oldest entry."""
        self._scanned_at = 0

    async def peek(
        self, shards: frozenset[int], *, until: Instant, limit: int, queue: bool = False
    ) -> Peeked:
        mine, server = sorted(shards), self._database.memory.server
        await self._split(mine, until)
        if abs(until - self._scanned_at) >= RESCAN_US:
            self._scanned_at = until
            self._low.clear()
        lows = [self._low.get(shard, 0) for shard in mine]
        each = max(1, limit // max(1, len(mine)))
        bounds = (near_slot(until), each, until)
        rows = await self._database.rows(SQL["clock.peek"], mine, lows, *bounds, queue)
        if not rows:
            return Peeked([], [], False, False)
        *_, has_cuts, has_waiting, has_free = rows[0]  # a shard without entries has a row, too
        packed = [PackedRow(*row[:7]) for row in map(tuple, rows) if row[0] is not None]
        source, more = _chosen(packed, until, each, limit)
        source = source._replace(server=server)
        entries = source.held
        if any(max(row.dues) > until for row in source.rows):
            entries = [entry for entry in entries if entry.due <= until]
        cuts = await self._cuts_of(source.held) if has_cuts and entries else []
        more = more or len(entries) > limit
        return Peeked(entries[:limit], cuts, more, has_waiting, has_free, source)

    async def _split(self, shards: Sequence[int], until: Instant) -> None:
        """Split the far slots that come up soon; rarely a call, since the answer is remembered."""
        wanted = (until + SPLIT_AHEAD_US) // FAR_US * FAR_US
        stale = [shard for shard in shards if self._split_until.get(shard, 0) < wanted]
        if stale:
            await self._database.rows(SQL["clock.split"], stale, wanted, FAR_US, NEAR_US)
            self._split_until |= dict.fromkeys(stale, wanted)
            self.rescan()

    async def _cuts_of(self, entries: Sequence[Entry]) -> list[Cut]:
        versions = [(entry.job, entry.version) for entry in entries]
        rows = await self._database.rows(SQL["clock.cuts_of"], versions)
        return [Cut(*row) for row in rows]

    async def fire(self, plan: Plan, *, lessee: Lessee, now: Instant) -> list[LeasedRun]:
        source = _source(plan)
        servers = {source.server, self._database.memory.server} - {None}
        if len(servers) > 1:
            raise Taken("the database was restarted or replaced since these entries were read")
        mine, rest = lessee.share(plan.runs)
        proof = self._database.memory.proof(lessee.node)
        values = (*_firing(plan, source, (mine, rest), lessee.node), proof)
        if plan.later or plan.records or plan.closed or plan.ended or plan.broken:
            made = await self._database.transaction(lambda db: _fire_fully(db, plan, values, now))
        else:
            made = await self._database.value(SQL["clock.fire"], *values)
        self._advance(source)
        if made < len(plan.runs):
            mine = await self._made(mine, lessee.node)
        return [LeasedRun._make((*run[:8], 1, 0, 1, run.payload)) for run in mine]

    async def _made(self, runs: Sequence[NewRun], node: int) -> list[NewRun]:
        """Those that were made: some instant had its fate already."""
        rows = await self._database.rows(SQL["clock.made"], runs, node)
        made = {tuple(row) for row in rows}
        return [run for run in runs if (run.job, run.run) in made]

    def _advance(self, source: Source) -> None:
        """Begin the next peek where this claim ended: what lies before was taken by it."""
        for row in source.rows:
            self._low[row.shard] = max(self._low.get(row.shard, 0), row.slot)

    async def horizon(self) -> Instant:
        return int(await self._database.value(SQL["clock.horizon"]))

    async def rules(self, ids: Sequence[int]) -> dict[int, Rule]:
        found = {}
        for number, spec in await self._database.rows(SQL["clock.rules"], list(ids)):
            try:
                found[number] = rule_from(spec)
            except (ValueError, TypeError, KeyError):
                continue  # its entries are set aside by the plan, which says so
        return found


def _chosen(
    rows: Sequence[PackedRow], until: Instant, each: int, limit: int
) -> tuple[Source, bool]:
    """The rows to be taken: whole ones, up to the limit. And whether there may be more."""
    source, more = Source([], []), False
    counts: Counter[int] = Counter()
    for row in sorted(rows, key=_PLACE):
        if min(row.dues) > until:
            continue
        size = len(row.jobs)
        if counts[row.shard] >= each or (source.held and len(source.held) + size > limit):
            more = True
            continue
        source.rows.append(row)
        source.held.extend(row.entries())
        counts[row.shard] += size
    return source, more or any(count >= each for count in counts.values())


def _source(plan: Plan) -> Source:
    assert isinstance(plan.source, Source) or not plan.taken, "a plan is made from a peek"
    return plan.source.of(plan.taken) if isinstance(plan.source, Source) else Source([], [])


def _firing(
    plan: Plan, source: Source, runs: tuple[list[NewRun], list[NewRun]], node: int
) -> tuple[object, ...]:
    """The arguments of `fire`. What a packed row holds beyond the taken entries goes back."""
    known = 0
    if plan.cuts:
        read = {(entry.job, entry.version) for entry in source.held}
        known = sum(1 + cut.deleted for cut in plan.cuts if (cut.job, cut.version) in read)
    made = _Runs.of(plan, *runs)
    nexts, kinds = [due or 0 for due in plan.nexts], made.kinds
    if len(plan.taken) < len(source.held):
        fates = dict(zip(plan.taken, zip(nexts, kinds, strict=True), strict=True))
        whole = [fates.get(entry, (entry.due, 0)) for entry in source.held]
        nexts, kinds = [due for due, _ in whole], [kind for _, kind in whole]
    return (
        *(node, plan.until, sorted({row.shard for row in source.rows})),
        *([row[:3] for row in source.rows], known, numbers(nexts), numbers(kinds)),
        *(map(list, zip(*made.sorts, strict=True)) if made.sorts else ((), (), ())),
        *(made.mine + made.rest, len(made.mine), FAR_US, NEAR_US),
    )


class _Runs:
    """The runs of a plan, as `fire` takes them.

    Nearly each is the only one of its entry, at its instant and of a first version, which never had
    a rival for it: a number says it, which stands for a lane, traits and a priority. `mine` and
    `rest` are the others.
    """

    def __init__(self) -> None:
        self.kinds: list[int] = []
        self.sorts: dict[tuple[str, int, int], int] = {}
        self.mine: list[NewRun] = []
        self.rest: list[NewRun] = []

    @classmethod
    def of(cls, plan: Plan, mine: Sequence[NewRun], rest: Sequence[NewRun]) -> _Runs:
        made = cls()
        owned = {(run.job, run.run) for run in mine} if mine and rest else None
        runs = iter(plan.runs)
        run = next(runs, None)
        for _, entry_due, entry_job, entry_version, _ in plan.taken:
            kind = 0
            while run is not None and run.job == entry_job and run.version == entry_version:
                job, number, version, lane, traits, priority, due, at, _, _ = run
                is_mine = bool(mine) if owned is None else (job, number) in owned
                if version == 1 and at == due == entry_due and not plan.cuts:
                    sort = (lane, traits, priority)
                    kind = made.sorts.setdefault(sort, len(made.sorts) + 1)
                    kind = kind if is_mine else -kind
                else:
                    (made.mine if is_mine else made.rest).append(run)
                run = next(runs, None)
            made.kinds.append(kind)
        assert run is None, "the runs of a plan are in the order of its entries"
        return made


async def _fire_fully(db: Connection, plan: Plan, values: tuple[object, ...], now: Instant) -> int:
    """A claim with something rare in it: further statements in the same transaction."""
    made = int(await db.fetchval(SQL["clock.fire"], *values))
    if plan.later:
        await db.execute(SQL["clock.insert_waiting"], plan.later)
    await record_ranges(db, plan.records, now)
    if plan.closed:
        await db.execute(SQL["clock.close_cuts"], plan.closed)
    if plan.ended:
        await db.execute(SQL["clock.disarm"], plan.ended)
    for entry, why in plan.broken:
        broken = (entry.job, entry.version, entry.due, entry.rule, why, now)
        await db.execute(SQL["clock.set_aside"], *broken)
    return made


async def record_ranges(db: Connection, records: Sequence[Record], now: Instant) -> None:
    """Missed and skipped ranges: attempt 0, since nothing was ever tried."""
    if records:
        await db.execute(
            SQL["clock.record_ranges"],
            now,
            [record.job for record in records],
            [record.version for record in records],
            [STATUS_CODES[record.status] for record in records],
            [record.first for record in records],
            [record.last for record in records],
            [record.count for record in records],
            [record.reason for record in records],
        )


class KnownRules:
    """The numbers of rules that are in the database for good: none changes, none is deleted."""

    def __init__(self) -> None:
        self._known: dict[Rule, int] = {}

    def forget(self) -> None:
        self._known.clear()

    async def numbers(
        self, db: Connection, rules: Sequence[Rule | None]
    ) -> tuple[list[int | None], dict[Rule, int]]:
        """The number of each (None: there is no rule), and which of them had to be asked for."""
        numbers = [None if rule is None else self._known.get(rule) for rule in rules]
        each = zip(rules, numbers, strict=True)
        asked = {rule for rule, number in each if number is None and rule is not None}
        if not asked:
            return numbers, {}
        found = await intern_rules(db, asked)
        each = zip(rules, numbers, strict=True)
        return [found.get(rule) if rule in asked else number for rule, number in each], found

    def keep(self, found: dict[Rule, int]) -> None:
        """To be told only once the transaction that asked for them has been committed."""
        if len(self._known) < KNOWN_MAX:
            self._known.update(found)


async def rule_number(db: Connection, definition: Definition) -> int | None:
    rule = rule_of(definition)
    return None if rule is None else (await intern_rules(db, [rule]))[rule]


async def intern_rules(db: Connection, rules: Iterable[Rule]) -> dict[Rule, int]:
    """The numbers of these rules, new ones included."""
    specs = {rule_text(rule): rule for rule in rules}
    if not specs:
        return {}
    await db.execute(SQL["clock.intern_rules"], list(specs))
    rows = await db.fetch(SQL["clock.rule_ids"], list(specs))
    return {specs[spec]: number for spec, number in rows}


async def put_entries(db: Connection, entries: Sequence[Entry]) -> None:
    """Add entries; the caller holds their shards' locks."""
    if entries:
        await db.execute(SQL["clock.put"], entries, FAR_US, NEAR_US)
