//! Every message about a wrong scenario, as a user sees it (no colours, narrow).

use pushmark_console::file_errors::FileErrors;
use pushmark_host::server::registry::Registry;
use pushmark_model::scenario::Override;
use pushmark_run::scenario_file::{Asked, Loaded, load};

fn load_bytes(bytes: &[u8], overrides: &[Override]) -> Result<Loaded, FileErrors> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.toml");
    std::fs::write(&path, bytes).unwrap();
    std::fs::write(folder.path().join("users.csv"), "name,token\nanna,t1\n").unwrap();
    let loaded = load(&Asked::File(&path), overrides, &Registry::embedded());
    loaded.map_err(|report| {
        let folder = format!("{}/", folder.path().display());
        FileErrors { file: report.file.replace(&folder, ""), ..report }
    })
}

fn shown(bytes: &[u8], overrides: &[Override]) -> String {
    screen(&load_bytes(bytes, overrides).expect_err("this scenario is wrong"))
}

/// Returns the report below a line that starts at the margin, so that snapshots keep its indentation.
fn screen(report: &FileErrors) -> String {
    format!("$ pushmark run\n{}", report.render(false, 72))
}

/// Returns the output for a scenario on the builtin server.
fn builtin(text: &str) -> String {
    shown(format!("{text}\n[target]\nserver = \"builtin\"\n").as_bytes(), &[])
}

/// Returns the output for a scenario with an `sse` template.
fn own(text: &str) -> String {
    shown(format!("{text}\n[target.subscribe]\nsse = \"http://h:1/{{channels}}\"\n").as_bytes(), &[])
}

/// Returns the output for a flag on the builtin server.
fn flag(edit: Override) -> String {
    shown(b"[target]\nserver = \"builtin\"\n", &[edit])
}

#[test]
fn an_unknown_key_is_named_with_the_nearest() {
    insta::assert_snapshot!(builtin("[load]\nconections = 10"), @r##"
    $ pushmark run
      × unknown key `conections` in [load]
       ╭─[s.toml:2:1]
     1 │ [load]
     2 │ conections = 10
       · ─────┬────
       ·      ╰── did you mean `connections`?
     3 │ [target]
       ╰────
      help: accepted: connections, browsers, ramp, settle, warmup,
            duration, drain, deadline, poll_interval, hybrid, hold,
            cursor, keep_alive, instrumented, connect_timeout,
            handshake_timeout, idle_timeout, reconnect, source_ips
    "##);
}

#[test]
fn an_unknown_table_is_named_with_the_nearest() {
    insta::assert_snapshot!(builtin("[laod]\nconnections = 10"), @r##"
    $ pushmark run
      × unknown key `laod`
       ╭─[s.toml:1:2]
     1 │ [laod]
       ·  ──┬─
       ·    ╰── did you mean `load`?
     2 │ connections = 10
       ╰────
      help: accepted: name, analysis, seed, transports, repeat, threads,
            agents, stamp_sample, batch, poller, target, load,
            subscriptions, publisher, flood, thresholds
    "##);
}

#[test]
fn all_errors_are_shown_at_once() {
    insta::assert_snapshot!(builtin(
        r#"seeed = 1
[load]
connections = "many"
duration = 10
settle = "1 parsec""#
    ), @r##"
    $ pushmark run
      × unknown key `seeed`
       ╭─[s.toml:1:1]
     1 │ seeed = 1
       · ──┬──
       ·   ╰── did you mean `seed`?
     2 │ [load]
       ╰────
      help: accepted: name, analysis, seed, transports, repeat, threads,
            agents, stamp_sample, batch, poller, target, load,
            subscriptions, publisher, flood, thresholds

      × `load.connections` cannot be "many"
       ╭─[s.toml:3:15]
     2 │ [load]
     3 │ connections = "many"
       ·               ───┬──
       ·                  ╰── found "many"
     4 │ duration = 10
       ╰────
      help: accepted: a whole number, 0 or more

      × `load.duration` cannot be 10
       ╭─[s.toml:4:12]
     3 │ connections = "many"
     4 │ duration = 10
       ·            ─┬
       ·             ╰── found 10
     5 │ settle = "1 parsec"
       ╰────
      help: accepted: a duration with its unit, such as "250ms", "2s",
            "1.5m" or "1h" (at most 1000h)

      × `load.settle` cannot be "1 parsec"
       ╭─[s.toml:5:10]
     4 │ duration = 10
     5 │ settle = "1 parsec"
       ·          ─────┬────
       ·               ╰── found "1 parsec"
     6 │ [target]
       ╰────
      help: accepted: a duration with its unit, such as "250ms", "2s",
            "1.5m" or "1h" (at most 1000h)
    "##);
}

#[test]
fn syntax() {
    insta::assert_snapshot!(builtin("[load\nconnections = 1"), @r##"
    $ pushmark run
      × not TOML: unclosed table, expected `]`
       ╭─[s.toml:1:5]
     1 │ [load
       ·     ┬
       ·     ╰── here
     2 │ connections = 1
       ╰────
    "##);
}

#[test]
fn a_key_given_twice() {
    insta::assert_snapshot!(builtin("[load]\nconnections = 1\nconnections = 2"), @r##"
    $ pushmark run
      × not TOML: duplicate key
       ╭─[s.toml:3:1]
     2 │ connections = 1
     3 │ connections = 2
       · ─────┬─────
       ·      ╰── here
     4 │ [target]
       ╰────
    "##);
}

#[test]
fn a_negative_count() {
    insta::assert_snapshot!(builtin("[load]\nconnections = -5"), @r##"
    $ pushmark run
      × `load.connections` cannot be -5
       ╭─[s.toml:2:15]
     1 │ [load]
     2 │ connections = -5
       ·               ─┬
       ·                ╰── found -5
     3 │ [target]
       ╰────
      help: accepted: a whole number, 0 or more
    "##);
}

#[test]
fn no_connections() {
    insta::assert_snapshot!(builtin("[load]\nconnections = 0"), @r##"
    $ pushmark run
      × `load.connections` cannot be 0
       ╭─[s.toml:2:15]
     1 │ [load]
     2 │ connections = 0
       ·               ┬
       ·               ╰── found 0
     3 │ [target]
       ╰────
      help: accepted: 1 or more
    "##);
}

#[test]
fn too_many_connections() {
    insta::assert_snapshot!(builtin("[load]\nconnections = 100_000_000"), @r##"
    $ pushmark run
      × `load.connections` is above the limit
       ╭─[s.toml:2:15]
     1 │ [load]
     2 │ connections = 100_000_000
       ·               ─────┬─────
       ·                    ╰── found 100000000
     3 │ [target]
       ╰────
      help: accepted: at most 10000000
    "##);
}

#[test]
fn a_duration_of_zero() {
    insta::assert_snapshot!(builtin(
        r#"[load]
duration = "0s""#
    ), @r##"
    $ pushmark run
      × `load.duration` cannot be 0
       ╭─[s.toml:2:12]
     1 │ [load]
     2 │ duration = "0s"
       ·            ──┬─
       ·              ╰── found 0s
     3 │ [target]
       ╰────
      help: accepted: a duration above zero
    "##);
}

#[test]
fn a_duration_beyond_all_bounds() {
    insta::assert_snapshot!(builtin(
        r#"[load]
settle = "2000h""#
    ), @r##"
    $ pushmark run
      × `load.settle` cannot be "2000h"
       ╭─[s.toml:2:10]
     1 │ [load]
     2 │ settle = "2000h"
       ·          ───┬───
       ·             ╰── found "2000h"
     3 │ [target]
       ╰────
      help: accepted: a duration with its unit, such as "250ms", "2s",
            "1.5m" or "1h" (at most 1000h)
    "##);
}

#[test]
fn a_poll_interval_that_is_none() {
    insta::assert_snapshot!(builtin(
        r#"[load]
poll_interval = "often""#
    ), @r##"
    $ pushmark run
      × `load.poll_interval` cannot be "often"
       ╭─[s.toml:2:17]
     1 │ [load]
     2 │ poll_interval = "often"
       ·                 ───┬───
       ·                    ╰── found "often"
     3 │ [target]
       ╰────
      help: accepted: a duration such as "1s", or a table such as
            { interval = "1s", pace = "after_answer" }
    "##);
}

#[test]
fn a_key_inside_a_poll_interval() {
    insta::assert_snapshot!(builtin(
        r#"[load]
poll_interval = { intervall = "1s" }"#
    ), @r##"
    $ pushmark run
      × unknown key `intervall` in [load.poll_interval]
       ╭─[s.toml:2:19]
     1 │ [load]
     2 │ poll_interval = { intervall = "1s" }
       ·                   ────┬────
       ·                       ╰── did you mean `interval`?
     3 │ [target]
       ╰────
      help: accepted: interval, pace, jitter, adaptive, phase, conditional
    "##);
}

#[test]
fn a_pace_that_is_none() {
    insta::assert_snapshot!(builtin(
        r#"[load]
poll_interval = { pace = "after-answer" }"#
    ), @r##"
    $ pushmark run
      × `load.poll_interval.pace` has no choice "after-answer"
       ╭─[s.toml:2:26]
     1 │ [load]
     2 │ poll_interval = { pace = "after-answer" }
       ·                          ───────┬──────
       ·                                 ╰── did you mean `after_answer`?
     3 │ [target]
       ╰────
      help: accepted: fixed, after_answer
    "##);
}

#[test]
fn jitter_out_of_range() {
    insta::assert_snapshot!(builtin("[load]\npoll_interval = { jitter = 20 }"), @r##"
    $ pushmark run
      × jitter must be a share of the interval
       ╭─[s.toml:2:28]
     1 │ [load]
     2 │ poll_interval = { jitter = 20 }
       ·                            ─┬
       ·                             ╰── found 20
     3 │ [target]
       ╰────
      help: accepted: 0 to below 1, such as 0.2
    "##);
}

#[test]
fn a_reconnect_that_is_none() {
    insta::assert_snapshot!(builtin(
        r#"[load]
reconnect = "always""#
    ), @r##"
    $ pushmark run
      × `load.reconnect` cannot be "always"
       ╭─[s.toml:2:13]
     1 │ [load]
     2 │ reconnect = "always"
       ·             ────┬───
       ·                 ╰── found "always"
     3 │ [target]
       ╰────
      help: accepted: "none", or a table such as { backoff = "full-
            jitter", base = "100ms", max = "10s" }
    "##);
}

#[test]
fn a_ramp_of_rate_and_steps() {
    insta::assert_snapshot!(builtin("[load]\nramp = { rate = 5, steps = [] }"), @r##"
    $ pushmark run
      × the ramp has both a rate and steps
       ╭─[s.toml:2:1]
     1 │ [load]
     2 │ ramp = { rate = 5, steps = [] }
       · ──┬─
       ·   ╰── found both
     3 │ [target]
       ╰────
      help: accepted: { rate = 500 }, { over = "60s" }, or { steps = [{ to
            = 2000, over = "10s" }] }
    "##);
}

#[test]
fn a_ramp_that_ends_elsewhere() {
    insta::assert_snapshot!(builtin(
        r#"[load]
ramp = { steps = [{ to = 500, over = "1s" }] }"#
    ), @r##"
    $ pushmark run
      × the steps do not rise to the 1000 connections of the load
       ╭─[s.toml:2:18]
     1 │ [load]
     2 │ ramp = { steps = [{ to = 500, over = "1s" }] }
       ·                  ─────────────┬─────────────
       ·                               ╰── found to = 500
     3 │ [target]
       ╰────
      help: accepted: steps whose `to` never falls and ends at
            load.connections
    "##);
}

#[test]
fn a_ramp_that_never_ends() {
    insta::assert_snapshot!(builtin(
        r#"[load]
ramp = { rate = "1/h" }
connections = 2000"#
    ), @r##"
    $ pushmark run
      × the ramp is longer than 1000h
       ╭─[s.toml:2:1]
     1 │ [load]
     2 │ ramp = { rate = "1/h" }
       · ──┬─
       ·   ╰── found 1/h
     3 │ connections = 2000
       ╰────
      help: accepted: a ramp of at most 1000h
    "##);
}

#[test]
fn a_ramp_longer_than_the_phase_it_runs_in() {
    insta::assert_snapshot!(builtin("[load]\nramp = { rate = 10, during = true }"), @r##"
    $ pushmark run
      × the ramp does not fit into the measure phase it runs in
       ╭─[s.toml:2:1]
     1 │ [load]
     2 │ ramp = { rate = 10, during = true }
       · ──┬─
       ·   ╰── found a ramp of 100s
     3 │ [target]
       ╰────
      help: accepted: at most load.duration, 10s
            ramp faster, measure longer, or leave `during` out
    "##);
}

#[test]
fn a_deadline_beyond_the_drain() {
    insta::assert_snapshot!(builtin(
        r#"[load]
deadline = "5s""#
    ), @r##"
    $ pushmark run
      × the run ends before the last delivery's deadline
       ╭─[s.toml:2:12]
     1 │ [load]
     2 │ deadline = "5s"
       ·            ──┬─
       ·              ╰── found a deadline of 5s, a drain of 2s
     3 │ [target]
       ╰────
      help: accepted: at most load.drain, 2s
            set load.drain = "5s" or more
    "##);
}

#[test]
fn no_drain_at_all() {
    insta::assert_snapshot!(builtin(
        r#"[load]
drain = "0s""#
    ), @r##"
    $ pushmark run
      × with a deadline of zero every delivery is late
       ╭─[s.toml:2:9]
     1 │ [load]
     2 │ drain = "0s"
       ·         ──┬─
       ·           ╰── found 0s
     3 │ [target]
       ╰────
      help: accepted: a duration above zero
            the deadline is load.drain unless load.deadline says otherwise
    "##);
}

#[test]
fn a_source_that_is_no_address() {
    insta::assert_snapshot!(builtin(
        r#"[load]
source_ips = ["127.0.0.300"]"#
    ), @r##"
    $ pushmark run
      × `load.source_ips[0]` cannot be "127.0.0.300"
       ╭─[s.toml:2:15]
     1 │ [load]
     2 │ source_ips = ["127.0.0.300"]
       ·               ──────┬──────
       ·                     ╰── found "127.0.0.300"
     3 │ [target]
       ╰────
      help: accepted: an IP address in quotes
    "##);
}

#[test]
fn a_rate_of_zero() {
    insta::assert_snapshot!(builtin(
        r#"[publisher]
rate = "0/s""#
    ), @r##"
    $ pushmark run
      × `publisher.rate` cannot be "0/s"
       ╭─[s.toml:2:8]
     1 │ [publisher]
     2 │ rate = "0/s"
       ·        ──┬──
       ·          ╰── found "0/s"
     3 │ [target]
       ╰────
      help: accepted: a rate above zero, such as "10/s", "600/m" or 10
            (per second)
    "##);
}

#[test]
fn a_rate_beyond_the_grain_of_stamps() {
    insta::assert_snapshot!(builtin("[publisher]\nrate = 2e6"), @r##"
    $ pushmark run
      × stamps and emitters count whole microseconds
       ╭─[s.toml:2:8]
     1 │ [publisher]
     2 │ rate = 2e6
       ·        ─┬─
       ·         ╰── found 2000000/s
     3 │ [target]
       ╰────
      help: accepted: at most 1000000/s on a channel
            spread a higher rate over more channels
    "##);
}

#[test]
fn a_negative_rate() {
    insta::assert_snapshot!(builtin("[publisher]\nrate = -3"), @r##"
    $ pushmark run
      × `publisher.rate` cannot be -3
       ╭─[s.toml:2:8]
     1 │ [publisher]
     2 │ rate = -3
       ·        ─┬
       ·         ╰── found -3
     3 │ [target]
       ╰────
      help: accepted: a rate above zero, such as "10/s", "600/m" or 10
            (per second)
    "##);
}

#[test]
fn a_size_below_the_stamp() {
    insta::assert_snapshot!(builtin(
        r#"[publisher]
size = "47B""#
    ), @r##"
    $ pushmark run
      × a payload must hold its stamp, 48 bytes
       ╭─[s.toml:2:8]
     1 │ [publisher]
     2 │ size = "47B"
       ·        ──┬──
       ·          ╰── found 47B
     3 │ [target]
       ╰────
      help: accepted: 48B or more
    "##);
}

#[test]
fn a_size_above_the_bound() {
    insta::assert_snapshot!(builtin(
        r#"[publisher]
size = "1GiB""#
    ), @r##"
    $ pushmark run
      × this payload is too large
       ╭─[s.toml:2:8]
     1 │ [publisher]
     2 │ size = "1GiB"
       ·        ───┬──
       ·           ╰── found 1GiB
     3 │ [target]
       ╰────
      help: accepted: at most 16MiB
    "##);
}

#[test]
fn a_size_range_upside_down() {
    insta::assert_snapshot!(builtin(
        r#"[publisher]
size = "1KiB..48B""#
    ), @r##"
    $ pushmark run
      × `publisher.size` cannot be "1KiB..48B"
       ╭─[s.toml:2:8]
     1 │ [publisher]
     2 │ size = "1KiB..48B"
       ·        ─────┬─────
       ·             ╰── found "1KiB..48B"
     3 │ [target]
       ╰────
      help: accepted: a size such as "128B" or "4KiB", or a range such as
            "48B..1KiB"
    "##);
}

#[test]
fn a_mode_that_is_none() {
    insta::assert_snapshot!(builtin(
        r#"[publisher]
mode = "emiter""#
    ), @r##"
    $ pushmark run
      × `publisher.mode` has no choice "emiter"
       ╭─[s.toml:2:8]
     1 │ [publisher]
     2 │ mode = "emiter"
       ·        ────┬───
       ·            ╰── did you mean `emitter`?
     3 │ [target]
       ╰────
      help: accepted: external, emitter, peer, none
    "##);
}

#[test]
fn an_emitter_on_a_target_without() {
    insta::assert_snapshot!(own(r#"[publisher]
mode = "emitter""#), @r##"
    $ pushmark run
      × this target has no emitters
       ╭─[s.toml:2:8]
     1 │ [publisher]
     2 │ mode = "emitter"
       ·        ────┬────
       ·            ╰── found "emitter"
     3 │ [target.subscribe]
       ╰────
      help: accepted: "external", "peer" (websocket, bayeux) or "none"
            only servers that keep the contract (`pushmark servers list`)
            publish by themselves
    "##);
}

#[test]
fn a_poisson_emitter() {
    insta::assert_snapshot!(builtin(
        r#"[publisher]
mode = "emitter"
arrivals = "poisson""#
    ), @r##"
    $ pushmark run
      × an emitter publishes at a constant interval
       ╭─[s.toml:3:12]
     2 │ mode = "emitter"
     3 │ arrivals = "poisson"
       ·            ────┬────
       ·                ╰── found "poisson" with mode = "emitter"
     4 │ [target]
       ╰────
      help: accepted: "constant", or mode = "external"
    "##);
}

#[test]
fn an_emitter_of_many_sizes() {
    insta::assert_snapshot!(builtin(
        r#"[publisher]
mode = "emitter"
size = "48B..1KiB""#
    ), @r##"
    $ pushmark run
      × an emitter publishes messages of one size
       ╭─[s.toml:3:8]
     2 │ mode = "emitter"
     3 │ size = "48B..1KiB"
       ·        ─────┬─────
       ·             ╰── found a range, 48B..1KiB, with mode = "emitter"
     4 │ [target]
       ╰────
      help: accepted: one size, or mode = "external"
    "##);
}

#[test]
fn a_publisher_without_a_way_to_publish() {
    insta::assert_snapshot!(own(r#"[publisher]
rate = "10/s""#), @r##"
    $ pushmark run
      × the target does not say how to publish
       ╭─[s.toml:1:2]
     1 │ [publisher]
       ·  ────┬────
       ·      ╰── here
     2 │ rate = "10/s"
       ╰────
      help: accepted: [target.publish] with url = "…" and body =
            "{message}"
            to observe a target that publishes by itself, leave
            [publisher] out
    "##);
}

#[test]
fn peers_on_a_transport_that_cannot_speak() {
    insta::assert_snapshot!(builtin(
        r#"transports = ["sse", "websocket"]
[publisher]
mode = "peer""#
    ), @r##"
    $ pushmark run
      × only clients on WebSocket or Bayeux can publish (publisher.mode =
      │ "peer")
       ╭─[s.toml:1:14]
     1 │ transports = ["sse", "websocket"]
       ·              ──────────┬─────────
       ·                        ╰── found sse
     2 │ [publisher]
       ╰────
      help: accepted: bayeux, websocket, bayeux-websocket
    "##);
}

#[test]
fn peers_on_a_target_without_websocket() {
    insta::assert_snapshot!(own(r#"[publisher]
mode = "peer""#), @r##"
    $ pushmark run
      × only clients on WebSocket or Bayeux can publish
       ╭─[s.toml:2:8]
     1 │ [publisher]
     2 │ mode = "peer"
       ·        ───┬──
       ·           ╰── found "peer", and no such transport
     3 │ [target.subscribe]
       ╰────
      help: accepted: a target with websocket or bayeux, or mode =
            "external"
    "##);
}

#[test]
fn more_channels_a_connection_than_there_are() {
    insta::assert_snapshot!(builtin("[subscriptions]\nchannels = 3\nper_connection = 4"), @r##"
    $ pushmark run
      × a connection cannot subscribe to 4 of 3 channels
       ╭─[s.toml:3:18]
     2 │ channels = 3
     3 │ per_connection = 4
       ·                  ┬
       ·                  ╰── found 4
     4 │ [target]
       ╰────
      help: accepted: 1 to subscriptions.channels, 3
    "##);
}

#[test]
fn rooms_and_several_channels_a_connection() {
    insta::assert_snapshot!(builtin("[subscriptions]\nrooms = { size = 20 }\nper_connection = 2"), @r##"
    $ pushmark run
      × a connection has only one room
       ╭─[s.toml:3:18]
     2 │ rooms = { size = 20 }
     3 │ per_connection = 2
       ·                  ┬
       ·                  ╰── found 2
     4 │ [target]
       ╰────
      help: accepted: 1 with `rooms`
            for several channels a connection, set `channels` instead of
            `rooms`
    "##);
}

#[test]
fn rooms_and_another_number_of_channels() {
    insta::assert_snapshot!(builtin("[subscriptions]\nrooms = { size = 20 }\nchannels = 3"), @r##"
    $ pushmark run
      × 1000 connections in rooms of 20 fill 50 channels
       ╭─[s.toml:3:12]
     2 │ rooms = { size = 20 }
     3 │ channels = 3
       ·            ┬
       ·            ╰── found 3
     4 │ [target]
       ╰────
      help: accepted: no `channels` beside `rooms`
    "##);
}

#[test]
fn more_channels_than_a_stamp_can_name() {
    insta::assert_snapshot!(builtin("[subscriptions]\nchannels = 1_679_617"), @r##"
    $ pushmark run
      × a stamp cannot identify this many channels
       ╭─[s.toml:2:12]
     1 │ [subscriptions]
     2 │ channels = 1_679_617
       ·            ────┬────
       ·                ╰── found 1679617 channels
     3 │ [target]
       ╰────
      help: accepted: at most 1679616
    "##);
}

#[test]
fn two_channels_of_one_name() {
    insta::assert_snapshot!(builtin(
        r#"[subscriptions]
names = ["a", "b", "a"]"#
    ), @r##"
    $ pushmark run
      × two channels are called "a"
       ╭─[s.toml:2:20]
     1 │ [subscriptions]
     2 │ names = ["a", "b", "a"]
       ·                    ─┬─
       ·                     ╰── found "a" again
     3 │ [target]
       ╰────
      help: accepted: each name once
    "##);
}

#[test]
fn names_that_do_not_add_up() {
    insta::assert_snapshot!(builtin(
        r#"[subscriptions]
names = ["a", "b"]
channels = 3"#
    ), @r##"
    $ pushmark run
      × 3 channels need 3 names
       ╭─[s.toml:2:9]
     1 │ [subscriptions]
     2 │ names = ["a", "b"]
       ·         ─────┬────
       ·              ╰── found 2 names
     3 │ channels = 3
       ╰────
      help: accepted: one name a channel, or no names
    "##);
}

#[test]
fn an_unknown_metric() {
    insta::assert_snapshot!(builtin(
        r#"[thresholds]
"delivery.p9x" = "< 50ms""#
    ), @r##"
    $ pushmark run
      × there is no metric `delivery.p9x`
       ╭─[s.toml:2:1]
     1 │ [thresholds]
     2 │ "delivery.p9x" = "< 50ms"
       · ───────┬──────
       ·        ╰── did you mean `delivery.p90`?
     3 │ [target]
       ╰────
      help: accepted: a metric such as delivery.p99, delivery.missing,
            connect.failed or published.lag.p99
    "##);
}

#[test]
fn a_threshold_without_a_unit() {
    insta::assert_snapshot!(builtin(
        r#"[thresholds]
"delivery.p99" = "< 50""#
    ), @r##"
    $ pushmark run
      × invalid bound for `delivery.p99`
       ╭─[s.toml:2:18]
     1 │ [thresholds]
     2 │ "delivery.p99" = "< 50"
       ·                  ───┬──
       ·                     ╰── found "< 50"
     3 │ [target]
       ╰────
      help: accepted: a time with its unit, such as "50ms" or "2s"
    "##);
}

#[test]
fn a_threshold_without_an_operator() {
    insta::assert_snapshot!(builtin(
        r#"[thresholds]
"delivery.p99" = "50ms""#
    ), @r##"
    $ pushmark run
      × invalid bound for `delivery.p99`
       ╭─[s.toml:2:18]
     1 │ [thresholds]
     2 │ "delivery.p99" = "50ms"
       ·                  ───┬──
       ·                     ╰── found "50ms"
     3 │ [target]
       ╰────
      help: accepted: an operator (<, <=, >, >=, ==, !=) and a value, such
            as "< 50ms" or "== 0"
    "##);
}

#[test]
fn a_threshold_on_what_is_never_measured() {
    insta::assert_snapshot!(own(r#"[thresholds]
"delivery.p99" = "< 50ms""#), @r##"
    $ pushmark run
      × nothing is published, so `delivery.p99` is never measured
       ╭─[s.toml:2:1]
     1 │ [thresholds]
     2 │ "delivery.p99" = "< 50ms"
       · ───────┬──────
       ·        ╰── found `delivery.p99`
     3 │ [target.subscribe]
       ╰────
      help: accepted: observed.messages, observed.gap.p99, connect.failed,
            connections.lost and the like
            to measure deliveries, say how to publish: [target.publish]
            with a url
    "##);
}

#[test]
fn an_unknown_transport() {
    insta::assert_snapshot!(builtin(r#"transports = ["sse", "websockets"]"#), @r##"
    $ pushmark run
      × `transports` has no choice "websockets"
       ╭─[s.toml:1:14]
     1 │ transports = ["sse", "websockets"]
       ·              ──────────┬──────────
       ·                        ╰── did you mean `websocket`?
     2 │ [target]
       ╰────
      help: accepted: poll, long-poll, bayeux, stream, sse, websocket,
            bayeux-websocket
    "##);
}

#[test]
fn no_transports() {
    insta::assert_snapshot!(builtin("transports = []"), @r##"
    $ pushmark run
      × `transports` is empty
       ╭─[s.toml:1:14]
     1 │ transports = []
       ·              ─┬
       ·               ╰── found an empty list
     2 │ [target]
       ╰────
      help: accepted: poll, long-poll, bayeux, stream, sse, websocket,
            bayeux-websocket
            leave the key out to compare all that the target has
    "##);
}

#[test]
fn a_transport_listed_twice() {
    insta::assert_snapshot!(builtin(r#"transports = ["sse", "ws", "websocket"]"#), @r##"
    $ pushmark run
      × `websocket` is listed twice
       ╭─[s.toml:1:28]
     1 │ transports = ["sse", "ws", "websocket"]
       ·                            ─────┬─────
       ·                                 ╰── found "websocket" again
     2 │ [target]
       ╰────
      help: accepted: each transport once
            to run every arm more often, set `repeat`
    "##);
}

#[test]
fn a_transport_without_a_template() {
    insta::assert_snapshot!(own(r#"transports = ["sse", "poll"]"#), @r##"
    $ pushmark run
      × the target has no `poll`
       ╭─[s.toml:1:14]
     1 │ transports = ["sse", "poll"]
       ·              ───────┬───────
       ·                     ╰── found "poll"
     2 │ [target.subscribe]
       ╰────
      help: accepted: sse
            say how to subscribe: poll = "…" under [target.subscribe]
    "##);
}

#[test]
fn a_name_with_a_slash() {
    insta::assert_snapshot!(builtin(r#"name = "a/b""#), @r##"
    $ pushmark run
      × this name cannot be part of a folder's name
       ╭─[s.toml:1:8]
     1 │ name = "a/b"
       ·        ──┬──
       ·          ╰── found "a/b"
     2 │ [target]
       ╰────
      help: accepted: a name without slashes that does not begin with a
            dot
    "##);
}

#[test]
fn never_repeated() {
    insta::assert_snapshot!(builtin("repeat = 0"), @r##"
    $ pushmark run
      × `repeat` cannot be 0
       ╭─[s.toml:1:10]
     1 │ repeat = 0
       ·          ┬
       ·          ╰── found 0
     2 │ [target]
       ╰────
      help: accepted: 1 or more
    "##);
}

#[test]
fn no_target() {
    insta::assert_snapshot!(shown(br#"name = "x""#, &[]), @r##"
    $ pushmark run
      × s.toml: the scenario has no target
      help: accepted: server = "…" of `pushmark servers list`, or
            templates under [target.subscribe]
    "##);
}

#[test]
fn an_unknown_server() {
    insta::assert_snapshot!(shown(
        br#"[target]
server = "bultin""#,
        &[]
    ), @r##"
    $ pushmark run
      × there is no server `bultin`
       ╭─[s.toml:2:10]
     1 │ [target]
     2 │ server = "bultin"
       ·          ────┬───
       ·              ╰── did you mean `builtin`?
       ╰────
      help: accepted: builtin
    "##);
}

#[test]
fn a_server_and_templates() {
    insta::assert_snapshot!(shown(
        br#"[target]
server = "builtin"
[target.subscribe]
sse = "http://h/""#,
        &[]
    ), @r##"
    $ pushmark run
      × `server` has its own templates, so `subscribe` is not allowed
       ╭─[s.toml:3:9]
     2 │ server = "builtin"
     3 │ [target.subscribe]
       ·         ────┬────
       ·             ╰── found both
     4 │ sse = "http://h/"
       ╰────
      help: accepted: either server = "…", or templates under
            [target.subscribe]
    "##);
}

#[test]
fn websocket_over_http() {
    insta::assert_snapshot!(shown(
        br#"[target.subscribe]
websocket = "http://h:1/ws""#,
        &[]
    ), @r##"
    $ pushmark run
      × this URL scheme does not match the transport
       ╭─[s.toml:2:13]
     1 │ [target.subscribe]
     2 │ websocket = "http://h:1/ws"
       ·             ───────┬───────
       ·                    ╰── found "http"
       ╰────
      help: accepted: ws://HOST:PORT/PATH, or wss://
    "##);
}

#[test]
fn sse_over_ws() {
    insta::assert_snapshot!(shown(
        br#"[target.subscribe]
sse = "ws://h:1/sse""#,
        &[]
    ), @r##"
    $ pushmark run
      × this URL scheme does not match the transport
       ╭─[s.toml:2:7]
     1 │ [target.subscribe]
     2 │ sse = "ws://h:1/sse"
       ·       ───────┬──────
       ·              ╰── found "ws"
       ╰────
      help: accepted: http://HOST:PORT/PATH, or https://
    "##);
}

#[test]
fn tls_keys_without_tls() {
    insta::assert_snapshot!(shown(
        br#"[target]
server = "builtin"
[target.tls]
cert = "client.pem""#,
        &[]
    ), @r##"
    $ pushmark run
      × this target does not use TLS
       ╭─[s.toml:3:9]
     2 │ server = "builtin"
     3 │ [target.tls]
       ·         ─┬─
       ·          ╰── found no https or wss in its URLs
     4 │ cert = "client.pem"
       ╰────
      help: accepted: https://… or wss://… under [target.subscribe] and
            [target.publish]

      × `cert` needs its `key`
       ╭─[s.toml:4:8]
     3 │ [target.tls]
     4 │ cert = "client.pem"
       ·        ──────┬─────
       ·              ╰── found `cert` alone
       ╰────
      help: accepted: both cert and key (--cert and --key), or none
    "##);
}

#[test]
fn insecure_with_an_authority() {
    insta::assert_snapshot!(shown(
        br#"[target.subscribe]
websocket = { url = "wss://h/ws" }
[target.tls]
insecure = true
ca = "ca.pem""#,
        &[]
    ), @r##"
    $ pushmark run
      × `ca` has no effect with `insecure`
       ╭─[s.toml:5:6]
     4 │ insecure = true
     5 │ ca = "ca.pem"
       ·      ────┬───
       ·          ╰── found "ca.pem", and insecure = true
       ╰────
      help: accepted: either ca (--ca), or insecure (--insecure)
    "##);
}

#[test]
fn certificates_that_are_not_there() {
    insta::assert_snapshot!(shown(
        br#"[target.subscribe]
sse = "https://h/sse"
[target.tls]
ca = "no-such-file.pem"
resumptoin = false"#,
        &[]
    ), @r##"
    $ pushmark run
      × unknown key `resumptoin` in [target.tls]
       ╭─[s.toml:5:1]
     4 │ ca = "no-such-file.pem"
     5 │ resumptoin = false
       · ─────┬────
       ·      ╰── did you mean `resumption`?
       ╰────
      help: accepted: insecure, resumption, ca, cert, key
    "##);
    insta::assert_snapshot!(shown(
        br#"[target.subscribe]
sse = "https://h/sse"
[target.tls]
ca = "no-such-file.pem""#,
        &[]
    ), @r##"
    $ pushmark run
      × the file cannot be read: No such file or directory (os error 2)
       ╭─[s.toml:4:6]
     3 │ [target.tls]
     4 │ ca = "no-such-file.pem"
       ·      ─────────┬────────
       ·               ╰── found "no-such-file.pem"
       ╰────
      help: accepted: a PEM file
    "##);
}

#[test]
fn a_probe_of_a_host_that_has_no_certificate() {
    insta::assert_snapshot!(shown(
        br#"[target.subscribe]
sse = "http://127.0.0.1:{port}/sse"
[target.process]
start = ["./server"]
ready = "https://local..host:{port}/health""#,
        &[]
    ), @r##"
    $ pushmark run
      × "local..host" is not a name that a certificate can have
       ╭─[s.toml:5:9]
     4 │ start = ["./server"]
     5 │ ready = "https://local..host:{port}/health"
       ·         ─────────────────┬─────────────────
       ·                          ╰── here
       ╰────
      help: accepted: a DNS name or an IP address
    "##);
}

#[test]
fn malformed_ipv6() {
    insta::assert_snapshot!(shown(
        br#"[target.subscribe]
sse = "http://[::1/sse""#,
        &[]
    ), @r##"
    $ pushmark run
      × this is not an IPv6 address
       ╭─[s.toml:2:7]
     1 │ [target.subscribe]
     2 │ sse = "http://[::1/sse"
       ·       ────────┬────────
       ·               ╰── found "[::1"
       ╰────
      help: accepted: an address in brackets, such as [::1]:8080
    "##);
}

#[test]
fn ipv6_without_brackets() {
    insta::assert_snapshot!(shown(
        br#"[target.subscribe]
sse = "http://::1:80/sse""#,
        &[]
    ), @r##"
    $ pushmark run
      × this is not an IPv6 address
       ╭─[s.toml:2:7]
     1 │ [target.subscribe]
     2 │ sse = "http://::1:80/sse"
       ·       ─────────┬─────────
       ·                ╰── found "::1:80"
       ╰────
      help: accepted: an address in brackets, such as [::1]:8080
    "##);
}

#[test]
fn port_zero() {
    insta::assert_snapshot!(shown(
        br#"[target.subscribe]
sse = "http://h:0/sse""#,
        &[]
    ), @r##"
    $ pushmark run
      × this is not a port
       ╭─[s.toml:2:7]
     1 │ [target.subscribe]
     2 │ sse = "http://h:0/sse"
       ·       ────────┬───────
       ·               ╰── found "0"
       ╰────
      help: accepted: 1 to 65535, or {port}
    "##);
}

#[test]
fn no_url_at_all() {
    insta::assert_snapshot!(shown(
        br#"[target.subscribe]
sse = "localhost:8080/sse""#,
        &[]
    ), @r##"
    $ pushmark run
      × this is not a URL
       ╭─[s.toml:2:7]
     1 │ [target.subscribe]
     2 │ sse = "localhost:8080/sse"
       ·       ──────────┬─────────
       ·                 ╰── found "localhost:8080/sse"
       ╰────
      help: accepted: http://HOST:PORT/PATH, or https://
    "##);
}

#[test]
fn credentials_in_a_url() {
    insta::assert_snapshot!(shown(
        br#"[target.subscribe]
sse = "http://u:p@h/sse""#,
        &[]
    ), @r##"
    $ pushmark run
      × user and password in a URL are not sent
       ╭─[s.toml:2:7]
     1 │ [target.subscribe]
     2 │ sse = "http://u:p@h/sse"
       ·       ─────────┬────────
       ·                ╰── found "u:p@h"
       ╰────
      help: accepted: http://HOST:PORT/PATH, or https://
            give credentials as a header: headers = { authorization =
            "…" }
    "##);
}

#[test]
fn a_template_table_without_url() {
    insta::assert_snapshot!(shown(
        br#"[target.subscribe]
sse = { ready = "hello" }"#,
        &[]
    ), @r##"
    $ pushmark run
      × `target.subscribe.sse` needs the key `url`
       ╭─[s.toml:2:7]
     1 │ [target.subscribe]
     2 │ sse = { ready = "hello" }
       ·       ─────────┬─────────
       ·                ╰── here
       ╰────
    "##);
}

#[test]
fn a_place_that_is_none() {
    insta::assert_snapshot!(shown(
        br#"[target.subscribe]
websocket = { url = "ws://h/", after_open = ["sub {chanel}"] }"#,
        &[]
    ), @r##"
    $ pushmark run
      × a template has no place `{chanel}`
       ╭─[s.toml:2:46]
     1 │ [target.subscribe]
     2 │ websocket = { url = "ws://h/", after_open = ["sub {chanel}"] }
       ·                                              ───────┬──────
       ·                                                     ╰── did you mean `{channel}`?
       ╰────
      help: accepted: {channel}, {channels}, {client}, {client.NAME},
            {port}, {secret.NAME}, {capture.NAME}, {uuid}, {seq}
            {{chanel}} stands for the text {chanel}
    "##);
}

#[test]
fn a_place_that_is_none_in_a_url() {
    insta::assert_snapshot!(shown(
        br#"[target.subscribe]
sse = "http://h/{chanel}""#,
        &[]
    ), @r##"
    $ pushmark run
      × a template has no place `{chanel}`
       ╭─[s.toml:2:7]
     1 │ [target.subscribe]
     2 │ sse = "http://h/{chanel}"
       ·       ─────────┬─────────
       ·                ╰── did you mean `{channel}`?
       ╰────
      help: accepted: {channel}, {channels}, {client}, {client.NAME},
            {cursor}, {hold_ms}, {port}, {secret.NAME}, {capture.NAME},
            {uuid}, {seq}
            {{chanel}} stands for the text {chanel}
    "##);
}

#[test]
fn one_channel_for_many() {
    insta::assert_snapshot!(shown(
        br#"[subscriptions]
channels = 10
per_connection = 2
[target.subscribe]
sse = "http://h/{channel}""#,
        &[]
    ), @r##"
    $ pushmark run
      × {channel} names one channel, but a connection subscribes to 2
      │ (subscriptions.per_connection)
       ╭─[s.toml:5:7]
     4 │ [target.subscribe]
     5 │ sse = "http://h/{channel}"
       ·       ──────────┬─────────
       ·                 ╰── found {channel}
       ╰────
      help: accepted: {channels}, all of them joined by commas
    "##);
}

#[test]
fn nothing_says_which_channel() {
    insta::assert_snapshot!(shown(
        br#"[subscriptions]
channels = 10
[target.subscribe]
sse = "http://h/all""#,
        &[]
    ), @r##"
    $ pushmark run
      × the template names none of 10 channels
       ╭─[s.toml:4:7]
     3 │ [target.subscribe]
     4 │ sse = "http://h/all"
       ·       ───────┬──────
       ·              ╰── here
       ╰────
      help: accepted: {channel} or {channels} in the URL, a header line,
            the body, or one of `steps` or `after_open`
    "##);
}

#[test]
fn publish_without_the_message() {
    insta::assert_snapshot!(shown(
        br#"[target.subscribe]
sse = "http://h/{channel}"
[target.publish]
url = "http://h/pub"
body = "hello""#,
        &[]
    ), @r##"
    $ pushmark run
      × a publication must contain {message}
       ╭─[s.toml:5:8]
     4 │ url = "http://h/pub"
     5 │ body = "hello"
       ·        ───┬───
       ·           ╰── found "hello"
       ╰────
      help: accepted: a template with {message}
            the stamp that measures a delivery is part of {message}
    "##);
}

#[test]
fn publish_without_the_channel() {
    insta::assert_snapshot!(shown(
        br#"[subscriptions]
channels = 2
[target.subscribe]
sse = "http://h/{channel}"
[target.publish]
url = "http://h/pub""#,
        &[]
    ), @r##"
    $ pushmark run
      × the template does not say which of 2 channels to publish on
       ╭─[s.toml:6:7]
     5 │ [target.publish]
     6 │ url = "http://h/pub"
       ·       ───────┬──────
       ·              ╰── found "http://h/pub"
       ╰────
      help: accepted: {channel} in the URL, a header or the body
    "##);
}

#[test]
fn a_client_field_without_a_table() {
    insta::assert_snapshot!(shown(
        br#"[target]
headers = { authorization = "Bearer {client.token}" }
[target.subscribe]
sse = "http://h/"
poll = "http://h/""#,
        &[]
    ), @r##"
    $ pushmark run
      × {client.token} needs a table of clients
       ╭─[s.toml:2:29]
     1 │ [target]
     2 │ headers = { authorization = "Bearer {client.token}" }
       ·                             ───────────┬───────────
       ·                                        ╰── found {client.token}
     3 │ [target.subscribe]
       ╰────
      help: accepted: clients = "users.csv" in [target], a file with a
            column `token`
    "##);
}

#[test]
fn a_client_field_without_a_column() {
    insta::assert_snapshot!(shown(
        br#"[target]
clients = "users.csv"
headers = { authorization = "Bearer {client.tokn}" }
[target.subscribe]
sse = "http://h/""#,
        &[]
    ), @r##"
    $ pushmark run
      × the clients' file has no column `tokn`
       ╭─[s.toml:3:29]
     2 │ clients = "users.csv"
     3 │ headers = { authorization = "Bearer {client.tokn}" }
       ·                             ───────────┬──────────
       ·                                        ╰── did you mean `token`?
     4 │ [target.subscribe]
       ╰────
      help: accepted: name, token
    "##);
}

#[test]
fn a_clients_file_that_is_not_there() {
    insta::assert_snapshot!(shown(
        br#"[target]
clients = "user.csv"
[target.subscribe]
sse = "http://h/""#,
        &[]
    ), @r##"
    $ pushmark run
      × the clients' file: there is no such file
       ╭─[s.toml:2:11]
     1 │ [target]
     2 │ clients = "user.csv"
       ·           ─────┬────
       ·                ╰── found "user.csv"
     3 │ [target.subscribe]
       ╰────
      help: accepted: a CSV file with a header line and a line for each
            client
    "##);
}

#[test]
fn a_header_of_two_lines() {
    insta::assert_snapshot!(shown(
        br#"[target]
headers = { x = "a\r\nb: c" }
[target.subscribe]
sse = "http://h/""#,
        &[]
    ), @r##"
    $ pushmark run
      × this is not a header line
       ╭─[s.toml:2:17]
     1 │ [target]
     2 │ headers = { x = "a\r\nb: c" }
       ·                 ─────┬─────
       ·                      ╰── found "x" = "a\r\nb: c"
     3 │ [target.subscribe]
       ╰────
      help: accepted: a name of letters, digits and dashes, and a value of
            one line
    "##);
}

#[test]
fn a_cursor_from_nowhere() {
    insta::assert_snapshot!(shown(
        br#"[target.subscribe]
long-poll = "http://h/?since={cursor}""#,
        &[]
    ), @r##"
    $ pushmark run
      × {cursor} is used, but its source is not set
       ╭─[s.toml:2:13]
     1 │ [target.subscribe]
     2 │ long-poll = "http://h/?since={cursor}"
       ·             ─────────────┬────────────
       ·                          ╰── found {cursor}
       ╰────
      help: accepted: cursor = "header:NAME" or cursor = "json:/pointer"
            beside the url
    "##);
}

#[test]
fn a_cursor_that_is_none() {
    insta::assert_snapshot!(shown(
        br#"[target.subscribe]
long-poll = { url = "http://h/?since={cursor}", cursor = "X-Cursor" }"#,
        &[]
    ), @r##"
    $ pushmark run
      × this is not a valid source of a cursor
       ╭─[s.toml:2:58]
     1 │ [target.subscribe]
     2 │ long-poll = { url = "http://h/?since={cursor}", cursor = "X-Cursor" }
       ·                                                          ─────┬────
       ·                                                               ╰── found "X-Cursor"
       ╰────
      help: accepted: "header:NAME", or "json:/pointer" into the answer
    "##);
}

#[test]
fn a_cursor_on_a_push_transport() {
    insta::assert_snapshot!(shown(
        br#"[target.subscribe]
sse = { url = "http://h/", cursor = "header:x" }"#,
        &[]
    ), @r##"
    $ pushmark run
      × `sse` keeps one request open, so it has no cursor
       ╭─[s.toml:2:37]
     1 │ [target.subscribe]
     2 │ sse = { url = "http://h/", cursor = "header:x" }
       ·                                     ─────┬────
       ·                                          ╰── found "header:x"
       ╰────
      help: accepted: `cursor` under poll or long-poll
    "##);
}

#[test]
fn websocket_messages_on_sse() {
    insta::assert_snapshot!(shown(
        br#"[target.subscribe]
sse = { url = "http://h/", after_open = ["x"] }"#,
        &[]
    ), @r##"
    $ pushmark run
      × `sse` sends no WebSocket messages
       ╭─[s.toml:2:41]
     1 │ [target.subscribe]
     2 │ sse = { url = "http://h/", after_open = ["x"] }
       ·                                         ──┬──
       ·                                           ╰── found `after_open`
       ╰────
      help: accepted: `url`, `method`, `body`, `steps`, `ready`, `ends`,
            `ignore`, `headers`
    "##);
}

#[test]
fn a_port_nobody_knows() {
    insta::assert_snapshot!(shown(
        br#"[target.subscribe]
sse = "http://h:{port}/sse""#,
        &[]
    ), @r##"
    $ pushmark run
      × {port} is only known for a server that pushmark starts
       ╭─[s.toml:2:7]
     1 │ [target.subscribe]
     2 │ sse = "http://h:{port}/sse"
       ·       ──────────┬──────────
       ·                 ╰── found {port}
       ╰────
      help: accepted: a port number, or [target.process] with start = […]
    "##);
}

#[test]
fn an_empty_command() {
    insta::assert_snapshot!(shown(
        br#"[target.subscribe]
sse = "http://h/"
[target.process]
start = []"#,
        &[]
    ), @r##"
    $ pushmark run
      × the start command is empty
       ╭─[s.toml:4:9]
     3 │ [target.process]
     4 │ start = []
       ·         ─┬
       ·          ╰── found an empty list
       ╰────
      help: accepted: a command and its arguments, such as ["./server",
            "--port", "{port}"]
    "##);
}

#[test]
fn peers_without_a_text() {
    insta::assert_snapshot!(shown(
        br#"transports = ["websocket"]
[target.subscribe]
websocket = "ws://h/"
[publisher]
mode = "peer""#,
        &[]
    ), @r##"
    $ pushmark run
      × the target does not say how a client publishes
       ╭─[s.toml:3:13]
     2 │ [target.subscribe]
     3 │ websocket = "ws://h/"
       ·             ────┬────
       ·                 ╰── here
     4 │ [publisher]
       ╰────
      help: accepted: publish = "…{channel}…{message}…" beside the url
    "##);
}

#[test]
fn a_timestamp_without_a_pointer() {
    insta::assert_snapshot!(shown(
        br#"[target]
stamp = { json = "ts", unit = "ms" }
[target.subscribe]
sse = "http://h/""#,
        &[]
    ), @r##"
    $ pushmark run
      × this is not a JSON pointer
       ╭─[s.toml:2:18]
     1 │ [target]
     2 │ stamp = { json = "ts", unit = "ms" }
       ·                  ──┬─
       ·                    ╰── found "ts"
     3 │ [target.subscribe]
       ╰────
      help: accepted: a pointer such as "/ts" or "/data/time"
    "##);
}

#[test]
fn a_flag_is_named_instead_of_a_line() {
    insta::assert_snapshot!(flag(Override::set("load.connections=many").unwrap()), @r##"
    $ pushmark run
      × --set load.connections=many: `load.connections` cannot be many
      help: found many
            accepted: a whole number, 0 or more
    "##);
}

#[test]
fn a_short_flag_is_named() {
    insta::assert_snapshot!(flag(Override::flag("-c", "load.connections", "0")), @r##"
    $ pushmark run
      × -c 0: `load.connections` cannot be 0
      help: found 0
            accepted: 1 or more
    "##);
}

#[test]
fn an_unknown_key_in_a_flag() {
    insta::assert_snapshot!(flag(Override::set("load.conections=5").unwrap()), @r##"
    $ pushmark run
      × --set load.conections=5: unknown key `conections` in [load]
      help: did you mean `connections`?
            accepted: connections, browsers, ramp, settle, warmup,
            duration, drain, deadline, poll_interval, hybrid, hold,
            cursor, keep_alive, instrumented, connect_timeout,
            handshake_timeout, idle_timeout, reconnect, source_ips
    "##);
}

#[test]
fn a_flag_that_reaches_through_a_value() {
    insta::assert_snapshot!(flag(Override::set("target.server.name=5").unwrap()), @r##"
    $ pushmark run
      × --set target.server.name=5: `target.server` is not a table in the
      │ file, so it has no keys
    "##);
}

#[test]
fn a_threshold_in_a_flag() {
    insta::assert_snapshot!(flag(Override::set("thresholds.delivery.p99=< 50").unwrap()), @r##"
    $ pushmark run
      × --set thresholds.delivery.p99=< 50: invalid bound for
      │ `delivery.p99`
      help: found "< 50"
            accepted: a time with its unit, such as "50ms" or "2s"
    "##);
}

#[test]
fn a_transport_in_a_flag() {
    insta::assert_snapshot!(flag(Override::flag("-t", "transports", "sse,webscket")), @r##"
    $ pushmark run
      × -t sse,webscket: `transports` has no choice "webscket"
      help: did you mean `websocket`?
            accepted: poll, long-poll, bayeux, stream, sse, websocket,
            bayeux-websocket
    "##);
}

#[test]
fn a_byte_order_mark() {
    insta::assert_snapshot!(shown("\u{feff}name = \"x\"\n".as_bytes(), &[]), @r##"
    $ pushmark run
      × the file begins with a byte-order mark
       ╭─[s.toml:1:1]
     1 │ ﻿name = "x"
       · ┬
       · ╰── here
       ╰────
      help: accepted: UTF-8 without a byte-order mark
            save it as "UTF-8", not "UTF-8 with BOM"
    "##);
}

#[test]
fn not_utf_8() {
    insta::assert_snapshot!(shown(b"name = \"x\"\nanalysis = \"caf\xe9\"\n", &[]), @r##"
    $ pushmark run
      × s.toml: the file is not UTF-8
      help: found byte 0xe9 in line 2
            accepted: a UTF-8 text
    "##);
}

#[test]
fn utf_16() {
    insta::assert_snapshot!(shown(b"\xff\xfen\0a\0", &[]), @r##"
    $ pushmark run
      × s.toml: the file is not UTF-8
      help: found UTF-16
            accepted: a UTF-8 text
    "##);
}

#[test]
fn an_edit_that_is_none() {
    let error = Override::set("load.connections").unwrap_err();
    insta::assert_snapshot!(screen(&FileErrors::new("s.toml", "", vec![*error])), @r##"
    $ pushmark run
      × --set load.connections: this is not KEY=VALUE
      help: found "load.connections"
            accepted: KEY=VALUE, such as load.connections=2000
    "##);
}

#[test]
fn a_file_that_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("fan-out.toml"), "").unwrap();
    let path = folder.path().join("fanout.toml");
    let report = load(&Asked::File(&path), &[], &Registry::embedded()).unwrap_err();
    let folder = format!("{}/", folder.path().display());
    insta::assert_snapshot!(format!("$\n{}", report.render(false, 200).replace(&folder, "")), @r##"
    $
      × fanout.toml: there is no such file
      help: did you mean `fan-out.toml`?
    "##);
}

#[test]
fn a_url_that_is_not_spoken() {
    let asked = Asked::argument(Some("gopher://example.org/events"), &[]);
    let report = load(&asked, &[], &Registry::embedded()).unwrap_err();
    insta::assert_snapshot!(screen(&report), @r##"
    $ pushmark run
      × unsupported URL scheme
       ╭─[the scenario for this URL:5:7]
     4 │ [target.subscribe]
     5 │ sse = "gopher://example.org/events"
       ·       ──────────────┬──────────────
       ·                     ╰── found "gopher"
     6 │
       ╰────
      help: accepted: http://HOST:PORT/PATH, or https://
    "##);
}
