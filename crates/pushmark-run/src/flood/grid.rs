//! A grid of heaps and stacks, and how many clients a server with a thread for each held in each cell:
//! which of the two memory limits came first, and which pair holds most. Pure.

use std::fmt::Write as _;

use pushmark_model::run::{Arm, FloodEnd};

use pushmark_chart::numbers::TERMINAL;

/// One pair and its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Size of the heap, as the JVM takes it.
    pub heap: String,
    /// Size of a thread's stack, as the JVM takes it.
    pub stack: String,
    /// Requests held at once; absent if the server did not start.
    pub held: Option<u64>,
    /// Its threads, at most.
    pub threads: Option<u64>,
    /// The limit that came first.
    pub first: First,
}

/// The limit that came first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum First {
    /// The heap was full.
    Heap,
    /// No more threads could be made.
    NativeThread,
    /// Another limit, by its name.
    Other(String),
    /// All requests were held: the limit was the probe's, not the server's.
    None,
    /// It did not start, and why.
    NotStarted(String),
}

impl First {
    /// For the table.
    fn words(&self) -> String {
        match self {
            First::Heap => "heap".into(),
            First::NativeThread => "native thread".into(),
            First::Other(kind) => kind.replace('_', " "),
            First::None => "neither: the probe's own limit".into(),
            First::NotStarted(why) => format!("not started: {why}"),
        }
    }

    /// The first limit of a flood.
    pub fn of(arm: &Arm) -> First {
        let Some(flood) = &arm.flood else { return First::Other("no flood".into()) };
        match flood.limits.first() {
            _ if flood.end == FloodEnd::Limit => First::None,
            Some(limit) if limit.kind == "heap" => First::Heap,
            Some(limit) if limit.kind == "native_threads" => First::NativeThread,
            Some(limit) => First::Other(limit.kind.clone()),
            None => First::Other(flood.end.name().into()),
        }
    }
}

/// Probes every pair, for each heap stack by stack. Stops when `hold` returns `None`.
pub fn probe(
    heaps: &[String],
    stacks: &[String],
    mut hold: impl FnMut(&str, &str) -> Option<Cell>,
) -> Vec<Cell> {
    let pairs = heaps.iter().flat_map(|heap| stacks.iter().map(move |stack| (heap, stack)));
    pairs.map_while(|(heap, stack)| hold(heap, stack)).collect()
}

/// The pair that held most. Of equal pairs the first: it needs least memory if heaps and stacks are listed
/// from small to large.
pub(crate) fn best(cells: &[Cell]) -> Option<&Cell> {
    let held = cells.iter().filter(|cell| cell.held.is_some());
    held.fold(None, |best: Option<&Cell>, cell| match best {
        Some(best) if best.held >= cell.held => Some(best),
        _ => Some(cell),
    })
}

/// The table and the recommended pair.
pub fn table(server: &str, cells: &[Cell]) -> String {
    let mut out = format!("{:>8}{:>8}{:>10}{:>10}  first\n", "heap", "stack", "held", "threads");
    let number = |n: Option<u64>| n.map_or_else(|| "–".to_owned(), |n| TERMINAL.count(n));
    for cell in cells {
        let Cell { heap, stack, held, threads, first } = cell;
        let (held, threads, first) = (number(*held), number(*threads), first.words());
        let _ = writeln!(out, "{heap:>8}{stack:>8}{held:>10}{threads:>10}  {first}");
    }
    match best(cells) {
        Some(Cell { heap, stack, held: Some(held), first, .. }) => {
            let at_least = if *first == First::None { "at least " } else { "" };
            let held = TERMINAL.count(*held);
            let _ =
                writeln!(out, "\n{server} holds most with heap {heap} and stack {stack}: {at_least}{held}");
        }
        _ => out.push_str("\nno pair held a client\n"),
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(all: &[&str]) -> Vec<String> {
        all.iter().map(|word| (*word).to_owned()).collect()
    }

    fn number(text: &str) -> u64 {
        text.trim_end_matches(['m', 'k']).parse().unwrap()
    }

    /// A machine of 1 GiB: a request takes 32 KiB of heap, a thread its stack beside the heap.
    fn simulated(heap: &str, stack: &str) -> Option<Cell> {
        if number(stack) < 136 {
            let first = First::NotStarted("the stack is too small".into());
            return Some(Cell { heap: heap.into(), stack: stack.into(), held: None, threads: None, first });
        }
        let by_heap = number(heap) * 1_024 / 32;
        let by_stack = (1_024 - number(heap)) * 1_024 / number(stack);
        let (held, first) =
            if by_heap <= by_stack { (by_heap, First::Heap) } else { (by_stack, First::NativeThread) };
        let held = Some(held);
        Some(Cell { heap: heap.into(), stack: stack.into(), held, threads: held, first })
    }

    #[test]
    fn the_best_pair_lies_where_both_limits_meet() {
        let (heaps, stacks) =
            (words(&["64m", "128m", "256m", "512m", "768m"]), words(&["64k", "136k", "512k"]));
        let cells = probe(&heaps, &stacks, simulated);
        assert_eq!(cells.len(), 15);
        let best = best(&cells).unwrap();
        assert_eq!((&*best.heap, &*best.stack, best.held), ("256m", "136k", Some(5_782)));
        assert_eq!(best.first, First::NativeThread);
        let small = cells.iter().find(|c| c.heap == "64m" && c.stack == "136k").unwrap();
        assert_eq!((small.held, &small.first), (Some(2_048), &First::Heap));
        let text = table("threads", &cells);
        assert!(text.contains("holds most with heap 256m and stack 136k: 5,782"), "{text}");
        assert!(text.contains("not started: the stack is too small"), "{text}");
    }

    #[test]
    fn equal_pairs_are_told_by_the_smaller_and_a_stop_keeps_what_was_seen() {
        let all = |heap: &str, stack: &str| {
            let first = First::None;
            Some(Cell { heap: heap.into(), stack: stack.into(), held: Some(500), threads: None, first })
        };
        let cells = probe(&words(&["64m", "128m"]), &words(&["136k"]), all);
        assert_eq!(best(&cells).unwrap().heap, "64m");
        assert!(table("x", &cells).contains("at least 500"));
        let mut left = 1;
        let stopped = probe(&words(&["64m", "128m"]), &words(&["136k"]), |heap, stack| {
            left -= 1;
            (left >= 0).then(|| all(heap, stack).unwrap())
        });
        assert_eq!(stopped.len(), 1);
        assert!(table("x", &[]).contains("no pair"));
    }
}
