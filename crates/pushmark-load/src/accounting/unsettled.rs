//! The gaps and absences of a subscription, each with its provisional fate until a publication in it arrives
//! after all.
//!
//! A subscription that receives everything in order has no spans. A gap or an absence is one span of 12
//! bytes, however long; adjacent spans of the same fate are merged. Spans are forgotten when they lie two
//! publication deadlines behind the newest sequence. So memory grows with the losses in that time, not with
//! the length of the run. The two bounds below apply to subscriptions that lose more.

use std::collections::VecDeque;

/// Most spans of one subscription: 12 KiB.
pub(super) const SPANS_MAX: usize = 1_024;
/// Most spans of a shard: 48 MiB. Beyond this each subscription keeps [`SPANS_FEW`].
pub(super) const SHARD_SPANS_MAX: usize = 4 << 20;
pub(super) const SPANS_FEW: usize = 16;

/// What a delivery that has not arrived counts as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// The subscription was established.
    Owed,
    /// The subscription was not established.
    Unserved,
    /// It is not known whether the subscription was established.
    Excused,
}

/// Sequences [from, to), none of which has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) fate: Fate,
}

/// All sequences that have not arrived, except the owed ones above the highest that has.
#[derive(Clone, Debug, Default)]
pub(super) struct Unsettled {
    /// Ascending, disjoint, none empty.
    spans: VecDeque<Span>,
    /// Below this sequence, it is only known that a part had not arrived.
    horizon: u32,
    /// How many spans of this subscription are in the shard's sum.
    summed: usize,
}

/// How many measured sequences a change of fates moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Moved {
    pub(super) unserved: i64,
    pub(super) excused: i64,
    /// Became owed after a newer one had arrived.
    pub(super) overtaken: i64,
}

impl Unsettled {
    /// Brings the shard's sum of spans up to date.
    pub(super) fn sum(&mut self, spans: &mut usize) {
        *spans = *spans - self.summed + self.spans.len();
        self.summed = self.spans.len();
    }

    pub(super) fn horizon(&self) -> u32 {
        self.horizon
    }

    /// One above the highest sequence that has a span.
    pub(super) fn end(&self) -> u32 {
        self.spans.back().map_or(0, |last| last.to)
    }

    /// Adds a span above all others.
    pub(super) fn push(&mut self, from: u32, to: u32, fate: Fate) {
        if from >= to {
            return;
        }
        match self.spans.back_mut() {
            Some(last) if last.to == from && last.fate == fate => last.to = to,
            _ => self.spans.push_back(Span { from, to, fate }),
        }
    }

    /// `sequence` arrived, and nothing from `top` on had arrived before. The sequences skipped that have no
    /// fate yet are owed. Returns how many of those are measured.
    pub(super) fn jump(&mut self, top: u32, sequence: u32, measure: (u32, u32)) -> u32 {
        let ahead = self.spans.split_off(self.spans.partition_point(|span| span.from < top));
        let (mut from, mut owed) = (top, 0);
        let mut gap = |spans: &mut Unsettled, from: u32, to: u32| {
            let to = to.min(sequence);
            owed += overlap((from, to), measure);
            spans.push(from, to, Fate::Owed);
        };
        for span in ahead {
            gap(self, from, span.from);
            self.push(span.from, span.to, span.fate);
            from = from.max(span.to);
        }
        if from < sequence {
            gap(self, from, sequence);
        }
        owed
    }

    /// A sequence arrived late: removes it and returns its provisional fate; `None` if it was not unsettled.
    pub(super) fn take(&mut self, sequence: u32) -> Option<Fate> {
        let at = self.spans.partition_point(|span| span.to <= sequence);
        let span = self.spans.get_mut(at).filter(|span| span.from <= sequence)?;
        let Span { from, to, fate } = *span;
        match (from == sequence, to == sequence + 1) {
            (true, true) => {
                self.spans.remove(at);
            }
            (true, false) => span.from = sequence + 1,
            (false, true) => span.to = sequence,
            (false, false) => {
                span.to = sequence;
                self.spans.insert(at + 1, Span { from: sequence + 1, to, fate });
            }
        }
        Some(fate)
    }

    /// Replaces the fate of every sequence by the result of `fate`; `below` is one above the highest sequence
    /// that has arrived. Owed sequences above it need no span. `now_owed` is called with each range that
    /// becomes owed.
    pub(super) fn change(
        &mut self,
        below: u32,
        bounds: [u32; 2],
        measure: (u32, u32),
        fate: impl Fn(u32, Fate) -> Fate,
        mut now_owed: impl FnMut(u32, u32),
    ) -> Moved {
        let mut moved = Moved::default();
        let before = std::mem::take(&mut self.spans);
        for span in before {
            // Between two bounds, a whole span has one new fate.
            let cuts = bounds.map(|bound| bound.clamp(span.from, span.to));
            let (low, high) = (cuts[0].min(cuts[1]), cuts[0].max(cuts[1]));
            for (from, to) in [(span.from, low), (low, high), (high, span.to)] {
                let new = fate(from, span.fate);
                if from < to && new != span.fate {
                    let n = i64::from(overlap((from, to), measure));
                    match span.fate {
                        Fate::Unserved => moved.unserved -= n,
                        Fate::Excused => moved.excused -= n,
                        Fate::Owed => {}
                    }
                    match new {
                        Fate::Unserved => moved.unserved += n,
                        Fate::Excused => moved.excused += n,
                        Fate::Owed => {
                            now_owed(from, to);
                            moved.overtaken += i64::from(overlap((from, to.min(below)), measure));
                        }
                    }
                }
                if new == Fate::Owed {
                    self.push(from, to.min(below), new);
                } else {
                    self.push(from, to, new);
                }
            }
        }
        moved
    }

    /// Counts the sequences of a range that have this fate, or any.
    pub(super) fn count(&self, range: (u32, u32), fate: Option<Fate>) -> u32 {
        let of = |span: &&Span| fate.is_none_or(|fate| span.fate == fate);
        self.spans.iter().filter(of).map(|span| overlap((span.from, span.to), range)).sum()
    }

    /// Forgets the spans that lie wholly below a sequence, as planned.
    pub(super) fn forget_below(&mut self, sequence: u32) {
        while let Some(first) = self.spans.front().filter(|first| first.to <= sequence) {
            self.horizon = first.to;
            self.spans.pop_front();
        }
    }

    /// Forgets the oldest spans until `most` are left. Returns how many spans it forgot.
    pub(super) fn keep(&mut self, most: usize) -> u64 {
        let excess = self.spans.len().saturating_sub(most);
        if let Some(last) = self.spans.drain(..excess).next_back() {
            self.horizon = last.to;
        }
        excess as u64
    }
}

/// How many sequences lie in both ranges.
pub(super) fn overlap(a: (u32, u32), b: (u32, u32)) -> u32 {
    a.1.min(b.1).saturating_sub(a.0.max(b.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use Fate::*;

    fn shown(unsettled: &Unsettled) -> Vec<(u32, u32, Fate)> {
        unsettled.spans.iter().map(|s| (s.from, s.to, s.fate)).collect()
    }

    #[test]
    fn absences_that_touch_are_one() {
        let mut u = Unsettled::default();
        u.push(3, 5, Unserved);
        u.push(5, 9, Excused);
        u.push(9, 9, Unserved);
        u.push(9, 12, Unserved);
        // The attempt between the two absences failed: it was no subscription.
        let failed = |at, fate| match fate {
            Excused if at >= 5 => Unserved,
            _ => fate,
        };
        let moved = u.change(3, [5, 5], (0, 8), failed, |_, _| panic!("nothing became owed"));
        assert_eq!(shown(&u), [(3, 12, Unserved)]);
        assert_eq!(moved, Moved { unserved: 3, excused: -3, overtaken: 0 });
    }

    #[test]
    fn a_jump_owes_what_no_absence_explains() {
        let mut u = Unsettled::default();
        u.push(3, 5, Unserved);
        u.push(8, 20, Excused);
        assert_eq!(u.jump(1, 10, (0, 100)), 2 + 3);
        assert_eq!(shown(&u), [(1, 3, Owed), (3, 5, Unserved), (5, 8, Owed), (8, 20, Excused)]);
        assert_eq!(u.take(10), Some(Excused));
        assert_eq!(u.take(10), None);
        assert_eq!(u.take(1), Some(Owed));
        assert_eq!(u.take(19), Some(Excused));
        assert_eq!(u.count((0, 100), None), 1 + 2 + 3 + 2 + 8);
        assert_eq!(u.count((0, 100), Some(Owed)), 4);
    }

    #[test]
    fn what_is_forgotten_moves_the_horizon() {
        let mut u = Unsettled::default();
        (0..10).for_each(|n| u.push(n * 10, n * 10 + 5, Owed));
        u.forget_below(16);
        assert_eq!((u.spans.len(), u.horizon()), (8, 15));
        assert_eq!((u.keep(2), u.horizon(), u.end()), (6, 75, 95));
        assert_eq!((u.keep(2), u.horizon()), (0, 75));
    }
}
