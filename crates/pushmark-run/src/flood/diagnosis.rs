//! Which limit a flood hit: the evidence, in words, the likeliest limit first. Pure.
//!
//! The server's output has priority over counts from outside, and counts from outside have priority over mere
//! plausibility. Without evidence no limit is named.

use pushmark_model::flood::FloodEnd;
use pushmark_model::run::FloodLimit;

use super::evidence::Evidence;
use pushmark_chart::numbers::TERMINAL;

/// Messages of runtimes at a limit: kind, text, by priority. A JVM
/// that cannot create a thread also reports that it is out of memory, so the specific text is first.
const WORDS: [(&str, &str); 13] = [
    ("native_threads", "unable to create native thread"),
    ("native_threads", "unable to create new native thread"),
    ("native_threads", "pthread_create failed"),
    ("direct_memory", "Direct buffer memory"),
    ("direct_memory", "Cannot reserve "),
    ("heap", "Java heap space"),
    ("heap", "GC overhead limit exceeded"),
    ("heap", "heap out of memory"),
    ("open_files", "Too many open files"),
    ("open_files", "EMFILE"),
    ("memory", "insufficient memory for the Java Runtime"),
    ("memory", "Cannot allocate memory"),
    ("memory", "memory allocation of "),
];

/// Failures that are the server's answers.
const SERVER_ERRORS: [&str; 3] = ["status_5xx", "status_4xx", "overloaded"];
/// A server has no descriptors left if fewer than this are free.
const DESCRIPTORS_LEFT: u64 = 32;
/// Share of its CPUs from which a server counts as using all.
const BUSY: f64 = 0.90;
/// Threads grow with clients if there are at least this many per client.
const THREADS_PER_CLIENT: f64 = 0.9;

/// Returns the limits that the evidence supports.
pub(crate) fn limits(e: &Evidence) -> Vec<FloodLimit> {
    let mut limits: Vec<FloodLimit> = Vec::new();
    let mut add = |kind: &str, ours: bool, seen: String| {
        if !limits.iter().any(|limit| limit.kind == kind && limit.ours == ours) {
            limits.push(FloodLimit { kind: kind.to_owned(), ours, seen });
        }
    };
    let failed = |kind: &str| e.failures.get(kind).copied().unwrap_or(0);
    for (kind, failure, what) in [
        ("ports", "no_port", "connections got no local port"),
        ("open_files", "no_descriptor", "connections got no file descriptor in this process"),
    ] {
        if failed(failure) > 0 {
            add(kind, true, format!("{} {what}", TERMINAL.count(failed(failure))));
        }
    }
    for (kind, words) in WORDS {
        if let Some(line) = e.log.lines().find(|line| line.contains(words)) {
            add(kind, false, format!("the server wrote: {}", line.trim()));
        }
    }
    if let Some(d) = e.descriptors.filter(|d| d.open + DESCRIPTORS_LEFT >= d.most) {
        add(
            "open_files",
            false,
            format!("the server had {} of {} files open", TERMINAL.count(d.open), TERMINAL.count(d.most)),
        );
    }
    if e.out_of_memory && !limits_memory(&limits) {
        let how = e.ended.as_deref().unwrap_or("it lives");
        limits.push(FloodLimit {
            kind: "memory".into(),
            ours: false,
            seen: format!("it ran out of memory ({how})"),
        });
    }
    let mut add = |kind: &str, ours: bool, seen: String| {
        limits.push(FloodLimit { kind: kind.to_owned(), ours, seen });
    };
    if e.overflows > 0 {
        add(
            "backlog",
            false,
            format!("listen queues overflowed {} times on this host", TERMINAL.count(e.overflows)),
        );
    }
    if let Some((kind, n)) = SERVER_ERRORS.iter().map(|kind| (kind, failed(kind))).find(|(_, n)| *n > 0) {
        add("server_error", false, format!("{} were answered with an error ({kind})", TERMINAL.count(n)));
    }
    if let Some(seen) = threads_spent(e) {
        add("threads", false, seen);
    }
    if let Some(busy) = e.server_busy.filter(|busy| *busy >= BUSY) {
        add("cpu", false, format!("it used {:.0} % of its CPUs in the last seconds", busy * 100.0));
    }
    if let (FloodEnd::Collapsed, true) = (e.end.unwrap_or(FloodEnd::Limit), limits.is_empty()) {
        limits.push(FloodLimit {
            kind: "latency".into(),
            ours: false,
            seen: "publications arrived too late, and no exhausted resource was found".into(),
        });
    }
    if e.end == Some(FloodEnd::Limit) {
        // Whatever else shows did not end it.
        let seen = |what: &str| format!("all {} of {what} were offered", TERMINAL.count(e.limit));
        limits = vec![match &e.cut_by {
            Some(by) => FloodLimit {
                kind: "machine".into(),
                ours: true,
                seen: format!("{}: it cannot hold more ({by})", seen("what this machine holds")),
            },
            None => FloodLimit { kind: "asked".into(), ours: true, seen: seen("the flood's limit") },
        }];
    }
    limits
}

/// Whether a memory limit of some kind is in the list already.
fn limits_memory(limits: &[FloodLimit]) -> bool {
    let memory = ["native_threads", "direct_memory", "heap", "memory"];
    limits.iter().any(|limit| memory.contains(&&*limit.kind))
}

/// A server with one thread a client that creates no more threads answers no more clients.
fn threads_spent(e: &Evidence) -> Option<String> {
    let (most, last) = e.threads?;
    let stands = matches!(e.end?, FloodEnd::Stalled | FloodEnd::Refused | FloodEnd::Collapsed);
    let each = e.thread_each && last as f64 >= THREADS_PER_CLIENT * e.established as f64;
    (stands && each && last == most && e.offered > e.established)
        .then(|| format!("it uses one thread a client and stopped at {} threads", TERMINAL.count(last)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flood::evidence::Descriptors;

    fn kinds(e: &Evidence) -> Vec<(String, bool)> {
        limits(e).into_iter().map(|limit| (limit.kind, limit.ours)).collect()
    }

    fn theirs(kind: &str) -> Vec<(String, bool)> {
        vec![(kind.to_owned(), false)]
    }

    fn ended(end: FloodEnd) -> Evidence {
        Evidence { end: Some(end), offered: 7_000, established: 6_860, ..Evidence::default() }
    }

    #[test]
    fn a_servers_last_words_name_its_limit() {
        for (line, kind) in [
            ("java.lang.OutOfMemoryError: Java heap space", "heap"),
            ("java.lang.OutOfMemoryError: Direct buffer memory", "direct_memory"),
            (
                "java.lang.OutOfMemoryError: unable to create native thread: possibly out of memory",
                "native_threads",
            ),
            ("FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory", "heap"),
            ("java.io.IOException: Too many open files", "open_files"),
            ("Error: accept EMFILE", "open_files"),
        ] {
            let log = format!("listening\n{line}\n\tat x.y(Z.java:1)\n");
            let e = Evidence { log, out_of_memory: line.contains("OutOfMemory"), ..ended(FloodEnd::Stalled) };
            assert_eq!(kinds(&e), theirs(kind), "{line}");
            assert!(limits(&e)[0].seen.contains(line));
        }
    }

    #[test]
    fn what_can_be_counted_names_it_too() {
        let full = Some(Descriptors { open: 20_000, most: 20_000 });
        assert_eq!(kinds(&Evidence { descriptors: full, ..ended(FloodEnd::Stalled) }), theirs("open_files"));
        let enough = Some(Descriptors { open: 7_000, most: 20_000 });
        assert_eq!(kinds(&Evidence { descriptors: enough, ..ended(FloodEnd::Stalled) }), []);
        assert_eq!(kinds(&Evidence { overflows: 3, ..ended(FloodEnd::Refused) }), theirs("backlog"));
        let errors = [("status_5xx".to_owned(), 12)].into();
        assert_eq!(kinds(&Evidence { failures: errors, ..ended(FloodEnd::Refused) }), theirs("server_error"));
        let busy = Evidence { server_busy: Some(0.97), ..ended(FloodEnd::Collapsed) };
        assert_eq!(kinds(&busy), theirs("cpu"));
        assert_eq!(kinds(&ended(FloodEnd::Collapsed)), theirs("latency"));
        let killed =
            Evidence { out_of_memory: true, ended: Some("signal 9".into()), ..ended(FloodEnd::Died) };
        assert_eq!(kinds(&killed), theirs("memory"));
    }

    #[test]
    fn a_pool_of_threads_that_is_spent_is_told() {
        let threads = |threads, thread_each| {
            kinds(&Evidence { threads: Some(threads), thread_each, ..ended(FloodEnd::Stalled) })
        };
        assert_eq!(threads((6_880, 6_880), true), theirs("threads"));
        assert_eq!(threads((120, 120), false), [], "it does not need one a client");
        assert_eq!(threads((6_880, 3_000), true), [], "its threads went");
    }

    #[test]
    fn ours_is_said_to_be_ours() {
        let failures = [("no_descriptor".to_owned(), 4)].into();
        let e = Evidence { failures, ..ended(FloodEnd::Ours) };
        assert_eq!(kinds(&e), [("open_files".to_owned(), true)]);
        let machine = Evidence {
            cut_by: Some("open_files".into()),
            limit: 19_000,
            overflows: 2,
            ..ended(FloodEnd::Limit)
        };
        assert_eq!(kinds(&machine), [("machine".to_owned(), true)]);
        assert_eq!(kinds(&ended(FloodEnd::Limit)), [("asked".to_owned(), true)]);
    }
}
