//! Every message about a wrong suite, as a user sees it (no colours, narrow).

use pushmark_host::server::registry::Registry;
use pushmark_model::suite::Scale;
use pushmark_run::suite::{AskedSuite, SuiteSettings, load};

/// Returns the output for a suite on the builtin server, below a line that starts at the margin, so that
/// snapshots keep the indentation.
fn shown(text: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.toml");
    std::fs::write(&path, format!("{text}[scenario.target]\nserver = \"builtin\"\n")).unwrap();
    let wishes = SuiteSettings { overrides: Vec::new(), scale: Scale::NONE };
    let loaded = load(AskedSuite::File(&path), &wishes, &Registry::embedded(), None);
    let report = loaded.expect_err("this suite is wrong").render(false, 72);
    format!("$ pushmark suite\n{}", report.replace(&format!("{}/", folder.path().display()), ""))
}

/// Cuts off the list of accepted values, which grows.
fn brief(text: &str) -> String {
    let shown = shown(text);
    shown.split("  help: accepted").next().unwrap().to_owned()
}

const AXES: &str = "[axes.users]
key = \"load.connections\"
values = [100, 200]
[axes.style]
values = [{ name = \"comet\", set = { transports = [\"stream\"] } },
          { name = \"push\", set = { transports = [\"sse\"] } }]
";

#[test]
fn an_unknown_key_is_named_with_the_nearest() {
    insta::assert_snapshot!(shown("[[matrx]]\n"), @r##"
    $ pushmark suite
      × unknown key `matrx`
       ╭─[s.toml:1:3]
     1 │ [[matrx]]
       ·   ──┬──
       ·     ╰── did you mean `matrix`?
     2 │ [scenario.target]
       ╰────
      help: accepted: name, analysis, seed, order, repeat, cooldown,
            order_of_axes, study, scenario, axes, matrix, figures
    "##);
}

#[test]
fn a_key_that_no_scenario_has_is_marked_at_its_axis() {
    insta::assert_snapshot!(brief("[axes.n]\nkey = \"load.conections\"\nvalues = [1, 2]\n[[matrix]]\n"), @r##"
    $ pushmark suite
      × unknown key `conections` in [load]
       ╭─[s.toml:2:7]
     1 │ [axes.n]
     2 │ key = "load.conections"
       ·       ────────┬────────
       ·               ╰── did you mean `connections`?
     3 │ values = [1, 2]
       ╰────
    "##);
}

#[test]
fn a_wrong_value_is_shown_once_and_where_it_was_seen() {
    let text =
        format!("{AXES}[axes.hold]\nkey = \"load.hold\"\nvalues = [\"1s\", \"5 parsec\"]\n[[matrix]]\n");
    insta::assert_snapshot!(shown(&text), @r##"
    $ pushmark suite
      × `load.hold` cannot be "5 parsec"
        ╭─[s.toml:9:17]
      8 │ key = "load.hold"
      9 │ values = ["1s", "5 parsec"]
        ·                 ─────┬────
        ·                      ╰── found "5 parsec"
     10 │ [[matrix]]
        ╰────
      help: accepted: a duration with its unit, such as "250ms", "2s",
            "1.5m" or "1h" (at most 1000h)
            seen in 4 cases, first in 100-comet-5-parsec
    "##);
}

#[test]
fn what_only_some_cases_get_wrong_is_told_with_the_first_of_them() {
    let text = format!(
        "{AXES}[[matrix]]\nset = {{ \"load.ramp\" = {{ steps = [{{ to = 100, over = \"1s\" }}] }} }}\n"
    );
    insta::assert_snapshot!(shown(&text), @r##"
    $ pushmark suite
      × the steps do not rise to the 200 connections of the load
       ╭─[s.toml:8:33]
     7 │ [[matrix]]
     8 │ set = { "load.ramp" = { steps = [{ to = 100, over = "1s" }] } }
       ·                                 ─────────────┬─────────────
       ·                                              ╰── found to = 100
     9 │ [scenario.target]
       ╰────
      help: accepted: steps whose `to` never falls and ends at
            load.connections
            seen in 2 cases, first in 200-comet
    "##);
}

#[test]
fn an_exclusion_that_names_nothing_and_one_that_leaves_nothing() {
    let text = format!(
        "{AXES}[[matrix]]\nname = \"one\"\n[[matrix.exclude]]\nuser = 100\nstyle = [\"comet\", \"pull\"]\n\
         [[matrix]]\nname = \"two\"\n[[matrix.exclude]]\nusers = [100, 200]\n"
    );
    insta::assert_snapshot!(shown(&text), @r##"
    $ pushmark suite
      × there is no axis `user`
        ╭─[s.toml:10:1]
      9 │ [[matrix.exclude]]
     10 │ user = 100
        · ──┬─
        ·   ╰── did you mean `users`?
     11 │ style = ["comet", "pull"]
        ╰────
      help: accepted: users, style

      × the axis `style` has no value `pull`
        ╭─[s.toml:11:19]
     10 │ user = 100
     11 │ style = ["comet", "pull"]
        ·                   ───┬──
        ·                      ╰── found "pull"
     12 │ [[matrix]]
        ╰────
      help: accepted: comet, push

      × the matrix `two` has no case left
        ╭─[s.toml:12:1]
     11 │ style = ["comet", "pull"]
     12 │ [[matrix]]
        · ─────┬────
        ·      ╰── found exclusions that match every case
     13 │ name = "two"
        ╰────
      help: accepted: at least one case a matrix
    "##);
}

#[test]
fn figures_name_axes_metrics_and_columns_that_are_there() {
    let text = format!(
        "{AXES}[[matrix]]\n[[figures]]\nid = \"a\"\ntitle = \"t\"\nx = \"usrs\"\ny = \"delivery.p9o\"\n\
         panel = \"stile\"\nwhere = {{ users = [\"300\"] }}\n\
         published = [{{ where = {{ style = \"comets\" }}, y = 1 }}]\n"
    );
    insta::assert_snapshot!(shown(&text), @r##"
    $ pushmark suite
      × there is no axis and no metric `usrs`
        ╭─[s.toml:11:5]
     10 │ title = "t"
     11 │ x = "usrs"
        ·     ───┬──
        ·        ╰── did you mean `users`?
     12 │ y = "delivery.p9o"
        ╰────
      help: accepted: an axis (users, style), or a metric of METRICS.md

      × there is no metric `delivery.p9o`
        ╭─[s.toml:12:5]
     11 │ x = "usrs"
     12 │ y = "delivery.p9o"
        ·     ───────┬──────
        ·            ╰── did you mean `delivery.p90`?
     13 │ panel = "stile"
        ╰────
      help: accepted: a metric of METRICS.md, such as delivery.p99

      × there is no axis `stile`
        ╭─[s.toml:13:9]
     12 │ y = "delivery.p9o"
     13 │ panel = "stile"
        ·         ───┬───
        ·            ╰── did you mean `style`?
     14 │ where = { users = ["300"] }
        ╰────
      help: accepted: users, style

      × the axis `users` has no value `300`
        ╭─[s.toml:14:19]
     13 │ panel = "stile"
     14 │ where = { users = ["300"] }
        ·                   ───┬───
        ·                      ╰── did you mean `100`?
     15 │ published = [{ where = { style = "comets" }, y = 1 }]
        ╰────
      help: accepted: 100, 200

      × the axis `style` has no value `comets`
        ╭─[s.toml:15:34]
     14 │ where = { users = ["300"] }
     15 │ published = [{ where = { style = "comets" }, y = 1 }]
        ·                                  ────┬───
        ·                                      ╰── did you mean `comet`?
     16 │ [scenario.target]
        ╰────
      help: accepted: comet, push
    "##);
    let text = format!(
        "{AXES}[[matrix]]\n[[figures]]\nid = \"b\"\ntitle = \"t\"\nkind = \"time\"\ny = \"deliverd\"\n"
    );
    insta::assert_snapshot!(brief(&text), @r##"
    $ pushmark suite
      × windows.csv has no column `deliverd`
        ╭─[s.toml:12:5]
     11 │ kind = "time"
     12 │ y = "deliverd"
        ·     ─────┬────
        ·          ╰── did you mean `delivered`?
     13 │ [scenario.target]
        ╰────
    "##);
}

#[test]
fn a_suite_without_a_matrix_an_axis_without_values_and_values_without_a_key() {
    insta::assert_snapshot!(shown("order = \"randomly\"\nrepeat = 0\n"), @r##"
    $ pushmark suite
      × `order` has no choice "randomly"
       ╭─[s.toml:1:9]
     1 │ order = "randomly"
       ·         ─────┬────
       ·              ╰── did you mean `random`?
     2 │ repeat = 0
       ╰────
      help: accepted: interleaved, random
    "##);
    insta::assert_snapshot!(shown("repeat = 0\ncooldown = { quiet = 2 }\n"), @r##"
    $ pushmark suite
      × `repeat` must be at least 1
       ╭─[s.toml:1:10]
     1 │ repeat = 0
       ·          ┬
       ·          ╰── found 0
     2 │ cooldown = { quiet = 2 }
       ╰────
      help: accepted: a whole number, 1 or more

      × this is not a share of the CPUs' time
       ╭─[s.toml:2:22]
     1 │ repeat = 0
     2 │ cooldown = { quiet = 2 }
       ·                      ┬
       ·                      ╰── found 2
     3 │ [scenario.target]
       ╰────
      help: accepted: above 0 to 1, such as 0.1

      × s.toml: the suite has no matrix, so it has no
      │ cases
      help: accepted: [[matrix]] at least once; it takes the axes of
            [axes.NAME] and of its own [matrix.axes.NAME]
    "##);
    insta::assert_snapshot!(shown("[axes.a]\nkey = \"seed\"\n[axes.b]\nvalues = [1, 1]\n[axes.c]\nkey = \"seed\"\nvalues = [1, 1, []]\n[[matrix]]\n"), @r##"
    $ pushmark suite
      × the axis `a` has no values
       ╭─[s.toml:1:7]
     1 │ [axes.a]
       ·       ┬
       ·       ╰── here
     2 │ key = "seed"
       ╰────
      help: accepted: a list of values, such as ["1s", "5s"] or [1000,
            5000]

      × the axis `b` has no `key` for its values
       ╭─[s.toml:3:7]
     2 │ key = "seed"
     3 │ [axes.b]
       ·       ┬
       ·       ╰── here
     4 │ values = [1, 1]
       ╰────
      help: accepted: key = "load.connections" beside the values, or
            values such as { name = "…", set = { … } }

      × the axis `c` has `1` twice
       ╭─[s.toml:7:14]
     6 │ key = "seed"
     7 │ values = [1, 1, []]
       ·              ┬
       ·              ╰── found "1" again
     8 │ [[matrix]]
       ╰────
      help: accepted: each value once

      × this value has no name
       ╭─[s.toml:7:17]
     6 │ key = "seed"
     7 │ values = [1, 1, []]
       ·                 ─┬
       ·                  ╰── here
     8 │ [[matrix]]
       ╰────
      help: accepted: a text, a number, true or false; else { name = "…",
            set = { … } }
    "##);
}

#[test]
fn two_cases_of_one_name_are_told_with_their_matrices() {
    let text = "[[matrix]]\nname = \"events\"\n[matrix.axes.emit]\nkey = \"publisher.rate\"\nvalues = [1, 5]\n\
        [[matrix]]\nname = \"idle\"\n[matrix.axes.threads]\nkey = \"threads\"\nvalues = [1, 5]\n";
    insta::assert_snapshot!(shown(text), @r##"
    $ pushmark suite
      × two cases are called `1`, in the matrix `events` and the matrix
      │ `idle`
       ╭─[s.toml:6:1]
     5 │ values = [1, 5]
     6 │ [[matrix]]
       · ─────┬────
       ·      ╰── found threads = 1
     7 │ name = "idle"
       ╰────
      help: accepted: values whose names, joined by hyphens, differ
            give a value another name: { name = "…", set = { … } }
    "##);
}

#[test]
fn what_the_suite_decides_is_not_for_its_scenarios() {
    let text =
        "[axes.n]\nkey = \"repeat\"\nvalues = [1]\n[[matrix]]\nset = { name = \"x\", \"load..hold\" = 1 }\n";
    insta::assert_snapshot!(shown(text), @r##"
    $ pushmark suite
      × the suite sets the `repeat` of each case
       ╭─[s.toml:2:7]
     1 │ [axes.n]
     2 │ key = "repeat"
       ·       ────┬───
       ·           ╰── found `repeat` in a case's scenario
     3 │ values = [1]
       ╰────
      help: write `repeat` at the top of the suite

      × the suite sets the `name` of each case
       ╭─[s.toml:5:9]
     4 │ [[matrix]]
     5 │ set = { name = "x", "load..hold" = 1 }
       ·         ──┬─
       ·           ╰── found `name` in a case's scenario
     6 │ [scenario.target]
       ╰────
      help: a case is named after its values

      × this is not a key of a scenario
       ╭─[s.toml:5:21]
     4 │ [[matrix]]
     5 │ set = { name = "x", "load..hold" = 1 }
       ·                     ──────┬─────
       ·                           ╰── found "load..hold"
     6 │ [scenario.target]
       ╰────
      help: accepted: a dotted key, such as "load.connections"
    "##);
}

#[test]
fn a_study_has_no_keys_that_the_page_does_not_show() {
    let text = "[[matrix]]\n[study]\nnumber = 1\ntitle = \"t\"\ndiffer = []\n[[study.questions]]\n";
    insta::assert_snapshot!(shown(text), @r##"
    $ pushmark suite
      × unknown key `differ` in [study]
       ╭─[s.toml:5:1]
     4 │ title = "t"
     5 │ differ = []
       · ───┬──
       ·    ╰── did you mean `differs`?
     6 │ [[study.questions]]
       ╰────
      help: accepted: number, title, asked, then, differs

      × unknown key `questions` in [study]
       ╭─[s.toml:6:9]
     5 │ differ = []
     6 │ [[study.questions]]
       ·         ────┬────
       ·             ╰── found `questions`
     7 │ [scenario.target]
       ╰────
      help: accepted: number, title, asked, then, differs
    "##);
}
