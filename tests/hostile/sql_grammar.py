"""Statements of SQLite by chance: valid ones, hostile ones, and broken ones."""

from __future__ import annotations

from random import Random

OURS = ("job", "run", "history", "node", "shard", "clock", "installation", "waiting", "ledger")
OUR_INDEXES = ("job_key", "run_free", "history_run", "sqlite_autoindex_rule_1")
SYSTEM = ("sqlite_master", "sqlite_schema", "sqlite_sequence", "sqlite_stat1", "sqlite_temp_master")
THEIRS = ("mine", "yours", "t1", "t2", "日本")
COLUMNS = ("a", "b", "c", "id", "job", "name", "rowid", "version", "key", "value", "*")
PLAIN = ("abs", "length", "lower", "hex", "json", "quote", "count", "max", "sum", "group_concat")
ODD = (
    *("load_extension", "fts3_tokenizer", "randomblob", "zeroblob", "sqlite_rename_table"),
    *("sqlite_log", "total_changes", "last_insert_rowid", "printf", "json_each", "raise"),
)
PRAGMAS = (
    *("writable_schema", "user_version", "foreign_keys", "journal_mode", "synchronous"),
    *("query_only", "temp_store", "cache_size", "recursive_triggers", "defer_foreign_keys"),
    *("ignore_check_constraints", "table_info", "wal_checkpoint", "max_page_count", "optimize"),
)
CONFLICTS = ("abort", "fail", "ignore", "replace", "rollback")
PHASES = ("before insert", "after update of a", "instead of delete", "after delete")
ENDLESS = "with recursive c(a) as (select 1 union all select a + 1 from c)"


class Grammar:
    """The same seed gives the same statements."""

    def __init__(self, seed: int) -> None:
        self._chance = Random(seed)
        self._kinds = {
            self._select: 16, self._insert: 22, self._update: 10, self._delete: 8,
            self._create_table: 14, self._create_index: 6, self._drop: 6, self._alter: 10,
            self._create_other: 6, self._control: 6, self._pragma: 3, self._upkeep: 3,
        }  # fmt: skip

    def statement(self) -> str:
        [kind] = self._chance.choices([*self._kinds], [*self._kinds.values()])
        text = kind()
        if self._rarely(30):
            text = f"explain {self._pick('', 'query plan ')}{text}"
        if self._rarely(15):
            text = self._broken(text)
        if self._rarely(20):
            text = self._pick("/* x */", "-- y\n", ";", " \t", "\ufeff") + text
        if self._rarely(40):
            text += self._pick(";", "; select 1", " -- end", "; commit", "\0")
        return text

    # Pieces

    def _pick(self, *of: str) -> str:
        return self._chance.choice(of)

    def _rarely(self, one_in: int) -> bool:
        return self._chance.randrange(one_in) == 0

    def _spelt(self, name: str) -> str:
        """In one of the ways in which SQLite takes a name."""
        how = self._chance.randrange(6)
        if how == 0:
            name = "".join(self._chance.choice((c.upper(), c.lower())) for c in name)
        return (name, name, f'"{name}"', f"[{name}]", f"`{name}`", f"'{name}'")[how]

    def _table(self, ours_in: int = 5) -> str:
        if self._rarely(ours_in):
            name = self._pick(*OURS, *OURS, *SYSTEM, "onthedot_x", "pragma_table_info", "dbstat")
        else:
            name = self._pick(*THEIRS)
        schema = "" if not self._rarely(8) else self._pick("main.", "MAIN.", "temp.", "other.")
        return schema + self._spelt(name)

    def _column(self) -> str:
        return self._pick(*COLUMNS[:3], *COLUMNS)

    def _columns(self) -> str:
        return ", ".join(self._pick("a", "b", "c") for _ in range(self._chance.randint(1, 3)))

    def _value(self) -> str:
        return self._pick("1", "-1", "0", "2", "null", "'x'", "1.5", "x'00'", "9223372036854775807")

    def _expression(self, depth: int = 2) -> str:
        kind = self._chance.randrange(12)
        if depth == 0 or kind < 4:
            return self._pick(self._value(), self._column().replace("*", "a"))
        inner = self._expression(depth - 1)
        match kind:
            case 4 | 5:
                return f"({inner} {self._pick('+', '||', '=', 'and', 'like', '->', 'is not')} 1)"
            case 6:
                name = self._pick(*ODD) if self._rarely(4) else self._pick(*PLAIN)
                return f"{name}({inner})"
            case 7:
                return f"(select {inner} from {self._table()} limit 1)"
            case 8:
                return f"case when {inner} then 1 else {self._expression(depth - 1)} end"
            case 9:
                return f"exists (select 1 from {self._table()} where a = {inner})"
            case 10:
                return f"cast({inner} as {self._pick('integer', 'text', 'blob')})"
            case _:
                return f"{inner} in (select a from {self._table()})"

    def _source(self) -> str:
        if self._rarely(10):
            odd = ("json_each('[1,2]')", "pragma_database_list", "pragma_user_version(1)", "dbstat")
            return self._pick(*odd, "sqlite_stmt", "(select 1 as a, 2 as b)", "c")
        return self._table()

    def _query(self) -> str:
        text = f"select {self._pick('*', 'a', '1', 'count(*)', self._expression())}"
        text += f" from {self._source()}"
        if self._rarely(4):
            text += f" {self._pick('join', 'left join', ',')} {self._source()} s2"
        if self._rarely(3):
            text += f" where {self._expression()}"
        if self._rarely(8):
            text += f" group by a having {self._expression(1)}"
        if self._rarely(8):
            text += f" {self._pick('union', 'union all', 'except')} select 1"
        if self._rarely(4):
            text += f" order by 1 limit {self._value()}"
        return text

    # Statements

    def _select(self) -> str:
        if self._rarely(40):
            return f"{ENDLESS} select a from c"
        if self._rarely(6):
            return f"with {self._spelt(self._pick('c', *OURS))}(a) as (select 1) {self._query()}"
        return self._query()

    def _insert(self) -> str:
        text = self._pick("insert into", "replace into", f"insert or {self._pick(*CONFLICTS)} into")
        text += f" {self._table(7)}"
        if self._rarely(30):
            return f"{ENDLESS} {text} (a) select a from c where a < 0"
        if self._rarely(20):
            return f"{text} default values"
        names = self._columns()
        values = ", ".join(self._value() for _ in names.split(","))
        rows = ", ".join([f"({values})"] * self._chance.randint(1, 2))
        text += f" ({names}) " + self._pick(f"values {rows}", f"values {rows}", self._query())
        if self._rarely(6):
            text += f" on conflict do {self._pick('nothing', f'update set a = {self._value()}')}"
        return text + self._returning()

    def _returning(self) -> str:
        return f" returning {self._pick('*', 'rowid', self._expression(1))}" * self._rarely(8)

    def _update(self) -> str:
        text = "update " + (f"or {self._pick(*CONFLICTS)} " if self._rarely(3) else "")
        text += f"{self._table(6)} set {self._pick('a', 'b', 'c', 'seq', 'sql')} ="
        text += f" {self._expression()}"
        if self._rarely(6):
            text += f" from {self._source()} as f"
        return text + f" where {self._expression()}" * (not self._rarely(3)) + self._returning()

    def _delete(self) -> str:
        text = f"delete from {self._table(6)}"
        return text + f" where {self._expression()}" * (not self._rarely(4)) + self._returning()

    def _create_table(self) -> str:
        temporary = self._pick("temp ", "temporary ", "") if self._rarely(5) else ""
        text = f"create {temporary}table {self._pick('', 'if not exists ')}{self._table(7)}"
        if self._rarely(5):
            return f"{text} as {self._query()}"
        first = self._pick("a", "a primary key", "a integer primary key autoincrement", "a unique")
        second = self._pick(
            *("b", "b not null default 1", "b check (b < 9)", "b references job (id)"),
            *("b generated always as (a + 1)", "b references run on delete cascade", "b collate x"),
            f"b default ({self._expression(1)})",
        )
        more = self._pick("", ", unique (a, b)", ", foreign key (a) references node (id)")
        options = self._pick("", "", "", " strict", " without rowid")
        return f"{text} ({first}, {second}, c{more}){options}"

    def _create_index(self) -> str:
        index = self._spelt(self._pick("i1", "i2", "i3", *OUR_INDEXES))
        on = self._spelt(self._pick(*OURS)) if self._rarely(6) else self._pick(*THEIRS)
        where = f" where {self._expression(1)}" * self._rarely(4)
        what = self._pick("a", "b", "a, b", self._expression(1))
        return f"create {self._pick('', 'unique ')}index {index} on {on} ({what}){where}"

    def _drop(self) -> str:
        what = self._pick("table", "table", "index", "view", "trigger")
        name = self._pick("i1", "i2", *OUR_INDEXES) if what == "index" else self._table(4)
        return f"drop {what} {self._pick('', 'if exists ')}{name}"

    def _alter(self) -> str:
        change = self._pick(
            *("add column d", "add column d integer not null default 1 check (d > 0)"),
            *("rename column b to e", "rename column e to b", "drop column d", "drop column c"),
            f"rename to {self._spelt(self._pick(*THEIRS, *OURS, 'sqlite_x'))}",
        )
        return f"alter table {self._table(6)} {change}"

    def _create_other(self) -> str:
        name, table = self._pick("v1", "v2", *OURS), self._table(3)
        temporary = self._pick("", "temp ")
        return self._pick(
            f"create {temporary}view {name} as {self._query()}",
            f"create {temporary}trigger {name} {self._pick(*PHASES)} on {table}"
            f" begin delete from {self._table(2)}; end",
            f"create virtual table {name} using {self._pick('fts5(a)', 'rtree(a, b, c)')}",
        )

    def _control(self) -> str:
        return self._pick(
            *("begin", "commit", "rollback", "end", "begin immediate", "savepoint verb"),
            *("release verb", "rollback to verb", "savepoint x", "release x", "COMMIT"),
            *("attach ':memory:' as other", "attach '' as job", "detach main", "detach other"),
        )

    def _pragma(self) -> str:
        name = self._pick(*PRAGMAS)
        return f"pragma {self._pick('', 'main.', 'temp.')}{name}" + self._pick("", " = 1", "(0)")

    def _upkeep(self) -> str:
        what = self._pick("analyze", "reindex", "vacuum", "reindex", "analyze")
        return what + self._pick("", f" {self._table(2)}", " into 'copy.db'")

    def _broken(self, text: str) -> str:
        words = text.split(" ")
        at = self._chance.randrange(len(words))
        return self._pick(
            " ".join(words[:at]),
            " ".join([*words[:at], words[at], words[at], *words[at + 1 :]]),
            " ".join([*words[:at], *words[at + 1 :]]),
            text.replace(self._pick("mine", "a", "t1"), self._pick(*OURS), 1),
            text.replace(" ", self._pick("/**/", "\n", "\t", " \x0b"), 1),
            text.swapcase(),
        )
