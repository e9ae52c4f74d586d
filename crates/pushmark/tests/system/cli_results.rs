//! The results of a run: its folder, its keys, its text and JSON, and what later commands make of it.

use crate::tool;
use crate::tool::{LOAD, Tool, arms, end, keys, number};
use serde_json::Value;

/// All five transports, quickly, with more than 100 publications each.
fn builtin() -> String {
    format!(
        "# a remark that stays\nname = \"kept\"\nanalysis = \"What a run leaves behind.\"\n[target]\nserver = \"builtin\"\n\
         {LOAD}poll_interval = \"100ms\"\n[publisher]\nrate = \"120/s\"\n[thresholds]\n\"delivery.missing\" = \"== 0\"\n"
    )
}

fn one_arm() -> String {
    format!("name = \"kept\"\ntransports = [\"websocket\"]\n[target]\nserver = \"builtin\"\n{LOAD}")
}

#[test]
fn the_folder_has_the_files_of_a_run_and_run_json_every_key() {
    let tool = Tool::new();
    tool.write("s.toml", &builtin());
    let ended = tool.run(&["run", "s.toml"]);
    assert!(matches!(ended.code, 0 | 6), "{ended:#?}");
    let names = tool.names("results");
    assert_eq!(names.len(), 1, "{names:?}");
    let id = &names[0];
    let folder = format!("results/{id}");
    let run = tool.run_json(&folder);
    // The folder also has the log of each started server.
    let (logs, files): (Vec<String>, Vec<String>) =
        tool.names(&folder).into_iter().partition(|name| name.ends_with(".log"));
    assert_eq!(files, ["latency.hlog", "report.html", "run.json", "scenario.toml", "windows.csv"]);
    assert_eq!(logs.len(), arms(&run).len(), "{logs:?}");
    assert_eq!(keys::lacking(&run), Vec::<String>::new());
    let mut fractions = Vec::new();
    keys::fractions(&run, "", &mut fractions);
    assert_eq!(fractions, Vec::<String>::new(), "times are whole µs");
    assert_eq!(run["schema"], "pushmark.run/1");
    assert_eq!(run["id"], Value::String(id.clone()));
    assert!(id.contains("Z-kept-"), "{id}");
    assert_eq!(run["command"], "pushmark run s.toml");
    let scenario = std::fs::read_to_string(tool.path(&folder).join("scenario.toml")).unwrap();
    assert_eq!(scenario, builtin(), "the scenario is kept as it was given");

    let transports: Vec<&str> = arms(&run).iter().filter_map(|arm| arm["transport"].as_str()).collect();
    assert_eq!(transports, ["poll", "long-poll", "stream", "sse", "websocket"]);
    for arm in arms(&run) {
        the_fates_add_up(arm);
    }
    // One line a second and arm: ramp to drain takes over 2 s.
    let windows = std::fs::read_to_string(tool.path(&folder).join("windows.csv")).unwrap();
    for transport in transports {
        let lines = windows.lines().filter(|line| line.starts_with(&format!("{transport},"))).count();
        assert!((2..=4).contains(&lines), "{transport}: {lines} lines");
    }
    let log = std::fs::read_to_string(tool.path(&folder).join("latency.hlog")).unwrap();
    assert!(log.contains("Tag=sse."), "{}", &log[..log.len().min(600)]);
    let page = std::fs::read_to_string(tool.path(&folder).join("report.html")).unwrap();
    assert!(page.contains("a remark that stays"), "the page has the scenario verbatim");
    assert!(ended.out.contains("report.html"), "{}", ended.out);
}

/// Checks: intended = delivered + late + missing + superseded + excused + unserved + unpublished.
#[track_caller]
fn the_fates_add_up(arm: &Value) {
    let of = |name: &str| number(&arm["delivery"], &format!("/{name}"));
    let fates = ["delivered", "late", "missing", "superseded", "excused", "unserved", "unpublished"];
    let sum: f64 = fates.iter().map(|fate| of(fate)).sum();
    assert_eq!(of("intended"), sum, "{}: {:#}", arm["transport"], arm["delivery"]);
    let expected = of("intended") - of("unserved") - of("unpublished") - of("excused") - of("superseded");
    assert_eq!(of("expected"), expected, "{}", arm["transport"]);
    assert_eq!(of("intended"), number(arm, "/published/due") * number(arm, "/connections/asked"));
}

#[test]
fn json_on_stdout_is_the_run_json_and_quiet_says_nothing() {
    let tool = Tool::new();
    tool.write("s.toml", &one_arm());
    let ended = tool.run(&["run", "s.toml", "-q", "--format", "json", "-o", "deep/er/out"]);
    assert!(matches!(ended.code, 0 | 6), "{ended:#?}");
    assert_eq!(ended.err, "");
    let printed: Value = serde_json::from_str(&ended.out).expect("stdout is JSON");
    assert_eq!(printed, tool.run_json("deep/er/out"));
    assert_eq!(tool.names(""), ["deep", "s.toml"], "nothing goes anywhere else");
}

#[test]
fn progress_is_plain_lines_where_stderr_is_no_terminal() {
    let tool = Tool::new();
    tool.write("s.toml", &one_arm());
    let ended = tool.run(&["run", "s.toml"]);
    for phase in ["settle", "measure", "drain"] {
        assert!(ended.err.contains(phase), "{}", ended.err);
    }
    for text in [&ended.err, &ended.out] {
        assert!(!text.contains('\x1b') && !text.contains('\r'), "{text:?}");
    }
}

/// Runs in a terminal by way of `script`, which every Debian has.
#[test]
fn no_color_takes_the_colours_from_a_terminal() {
    if !tool::have(std::path::Path::new("/usr/bin/script").exists(), "script") {
        return;
    }
    let tool = Tool::new();
    tool.write("s.toml", &one_arm());
    let on_a_terminal = |name: &str, no_color: &str| {
        let line = format!("{} run s.toml -o {name}", tool::program());
        let mut command = std::process::Command::new("script");
        command
            .args(["-qec", &line, "/dev/null"])
            .current_dir(tool.path(""))
            .stdin(std::process::Stdio::null());
        command
            .env("PUSHMARK_SERVERS", tool::servers())
            .env("TERM", "xterm-256color")
            .env("LC_ALL", "C.UTF-8");
        command.env("NO_COLOR", no_color);
        let ended = end(command);
        assert!(matches!(ended.code, 0 | 6), "{ended:#?}");
        ended.out
    };
    // Colours are `ESC [ … m`; the live line moves the cursor in either case.
    let coloured = |text: &str| {
        text.split('\x1b').skip(1).any(|rest| {
            rest.strip_prefix('[').is_some_and(|rest| {
                rest.find(|c: char| !c.is_ascii_digit() && c != ';')
                    .is_some_and(|at| rest[at..].starts_with('m'))
            })
        })
    };
    assert!(coloured(&on_a_terminal("with", "")));
    let plain = on_a_terminal("without", "1");
    assert!(!coloured(&plain), "{plain:?}");
    assert!(plain.contains("\x1b[K"), "the live line is still one: {plain:?}");
}

#[test]
fn repeats_are_runs_of_their_own_in_one_folder() {
    let tool = Tool::new();
    tool.write("s.toml", &one_arm());
    let ended = tool.run(&["run", "s.toml", "-q", "--repeat", "2", "-o", "both"]);
    assert!(matches!(ended.code, 0 | 6), "{ended:#?}");
    let names = tool.names("both");
    // On a busy machine up to two more starts replace invalid ones.
    assert!((2..=4).contains(&names.len()), "{names:?}");
    let starts = format!("{} starts", names.len());
    let runs: Vec<Value> = names.iter().map(|name| tool.run_json(&format!("both/{name}"))).collect();
    assert_eq!(runs[0]["seed"], runs[1]["seed"]);
    assert_ne!(arms(&runs[0])[0]["nonce"], arms(&runs[1])[0]["nonce"], "a run's stamps are its own");
    assert!(ended.out.contains(&starts), "{}", ended.out);

    // Makes the page and the text again, from both runs at once.
    let again = tool.run(&["report", "both", "-o", "again.html"]).expect(0);
    assert!(again.out.contains(&starts) && again.out.contains("again.html"), "{}", again.out);
    let page = std::fs::read_to_string(tool.path("again.html")).unwrap();
    assert!(names.iter().all(|name| page.contains(name.as_str())), "all runs are named");
    // The text of a single run is printed again too.
    let one = format!("both/{}", names[0]);
    let first = tool.run(&["report", &one, "-o", "one.html"]).expect(0);
    assert!(first.out.contains("n = 1"), "{}", first.out);

    let json =
        tool.run(&["run", "s.toml", "-q", "--repeat", "2", "-d", "300ms", "--format", "json", "-o", "more"]);
    let list: Value = serde_json::from_str(&json.out).expect("JSON");
    assert!(list.as_array().is_some_and(|list| (2..=4).contains(&list.len())));
}

#[test]
fn a_sitting_makes_both_in_turn_and_is_read_again() {
    let tool = Tool::new();
    tool.write("s.toml", &one_arm());
    let ab = ["ab", "s.toml", "--set-b", "load.connections=5", "-q", "-d", "300ms", "-o", "both"];
    let ended = tool.run(&[&ab[..], &["--starts", "1"]].concat());
    assert!(matches!(ended.code, 0 | 6), "{ended:#?}");
    assert!(ended.out.contains("s.toml load.connections=5"), "{}", ended.out);
    let runs = |side: &str| -> Vec<Value> {
        let names = tool.names(&format!("both/{side}"));
        names.iter().map(|name| tool.run_json(&format!("both/{side}/{name}"))).collect()
    };
    let (a, b) = (runs("a"), runs("b"));
    assert_eq!(a.len(), b.len(), "as many of both");
    assert!(a.iter().all(|run| run["sitting"]["side"] == "a"));
    assert!(b.iter().all(|run| run["scenario"]["load"]["connections"] == 5));
    // `compare` prints the same result again from the folder alone, and draws it.
    let again = tool.run(&["compare", "both", "--format", "json"]);
    let found: Value = serde_json::from_str(&again.out).expect("JSON");
    assert_eq!(found["design"], "interleaved");
    assert_eq!(found["pairs"][0]["transport"], "websocket");
    tool.run(&["report", "both", "-o", "again.html"]).expect(0);
    // An existing folder is not overwritten; it can only be resumed, and only with the same scenario.
    tool.run(&ab).expect(2).says(&["both: this folder already exists", "--resume"]);
    tool.run(&[&ab[..4], &["-q", "-o", "both", "--resume"]].concat()).expect(2).says(&["another scenario"]);
    let more = tool.run(&[&ab[..], &["--starts", "3", "--resume"]].concat());
    assert!(matches!(more.code, 0 | 6), "{more:#?}");
    assert!(runs("a").len() > a.len() && runs("a").len() == runs("b").len(), "{more:#?}");
}

#[test]
fn a_report_of_nothing_says_so() {
    let tool = Tool::new();
    std::fs::create_dir(tool.path("empty")).unwrap();
    let ended = tool.run(&["report", "empty"]).says(&["empty", "no run here"]);
    assert_eq!(ended.code, 2);
    let ended = tool.run(&["report", "no-such"]).says(&["no-such"]);
    assert_eq!(ended.code, 2);
    std::fs::create_dir(tool.path("torn")).unwrap();
    tool.write("torn/run.json", "{\"schema\": \"pushmark.run/1\", \"id\":");
    assert_eq!(tool.run(&["report", "torn"]).says(&["torn/run.json", "cut off"]).code, 2);
    tool.write("torn/run.json", "{\"schema\": \"pushmark.run/9\"}");
    assert_eq!(tool.run(&["report", "torn"]).says(&["pushmark.run/9", "newer"]).code, 2);
    assert_eq!(tool.names(""), ["empty", "torn"], "no page of nothing");
}

#[test]
fn kept_runs_are_listed_shown_and_queried() {
    let tool = Tool::new();
    tool.write("s.toml", &one_arm());
    for _ in 0..2 {
        let ended = tool.run(&["run", "s.toml", "-q", "-d", "300ms"]);
        assert!(matches!(ended.code, 0 | 6), "{ended:#?}");
    }
    let ids: Vec<String> = tool.names("results").into_iter().filter(|name| name.contains("-kept-")).collect();
    assert_eq!(ids.len(), 2);
    let list = tool.run(&["runs", "list"]).expect(0).out;
    assert!(ids.iter().all(|id| list.contains(id.as_str())), "{list}");
    let list: Value =
        serde_json::from_str(&tool.run(&["runs", "list", "--format", "json"]).expect(0).out).unwrap();
    assert_eq!(list.as_array().map(Vec::len), Some(2));
    let rows = tool.run(&["runs", "export", "results", "--format", "csv"]).expect(0).out;
    let mut rows = csv::Reader::from_reader(rows.as_bytes());
    let head = rows.headers().unwrap().clone();
    let at = |name: &str| head.iter().position(|column| column == name).expect("its column");
    let (run, delivered) = (at("run"), at("delivery.delivered"));
    for (row, id) in rows.records().map(Result::unwrap).zip(&ids) {
        assert_eq!((&row[run], &row[delivered]), (id.as_str(), "24"));
    }
    let shown = tool.run(&["runs", "show", &ids[0]]).expect(0).out;
    assert!(shown.contains("pushmark run s.toml") && shown.contains("websocket"), "{shown}");
    tool.run(&["runs", "rm", &ids[0]]).expect(0);
    assert!(!tool.path("results").join(&ids[0]).exists());
    tool.run(&["runs", "show", &ids[0]]).expect(2);
}
