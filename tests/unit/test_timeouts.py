"""Timeouts of many attempts share timers of the loop."""

import asyncio

import pytest

from onthedot.roles.timeouts import EXACT_S, SHARE, Alarm, Timeouts
from onthedot.testing.loop import VirtualLoop


@pytest.fixture
def loop():
    loop = VirtualLoop()
    yield loop
    loop.close()


def played(loop, script):
    """Who was woken, and how long after the beginning."""

    async def play():
        rung: dict[str, float] = {}
        began = loop.time()

        def ring(who):
            rung[who] = loop.time() - began

        script(Timeouts(ring))
        await asyncio.sleep(100)
        return rung

    return loop.run_until_complete(play())


@pytest.mark.parametrize("after", [0.0, 0.02, 0.999, 1.0, 1.7, 30.0, 59.9])
def test_an_alarm_goes_off_no_sooner_than_it_should_and_little_later(loop, after):
    rung = played(loop, lambda alarms: alarms.set("a", after))

    late = rung["a"] - after
    assert -1e-5 <= late <= (after / SHARE if after >= EXACT_S else 1e-5)


def test_alarms_of_about_the_same_time_share_one_timer(loop):
    shared: list[Alarm[int]] = []

    rung = played(loop, lambda alarms: shared.extend(alarms.set(n, 60.0) for n in range(1_000)))

    assert len(rung) == 1_000
    assert len({id(alarm) for alarm in shared}) <= 2


def test_who_has_left_is_not_woken_and_who_is_woken_may_make_others_leave(loop):
    alarm: Alarm[str] = {}

    async def play():
        nonlocal alarm
        rung = []

        def ring(who):
            rung.append(who)
            alarm.pop("c", None)

        alarms = Timeouts(ring)
        for who in ("a", "b", "c"):
            alarm = alarms.set(who, 5.0)
        alarm.pop("a")
        await asyncio.sleep(10)
        return rung

    assert loop.run_until_complete(play()) == ["b"]
