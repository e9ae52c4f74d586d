//! Places labels among curves: of many places, the nearest to the preferred one where the text covers no
//! curve and no other label.

use super::canvas::Text;

/// What a label must not cover.
#[derive(Clone, Default)]
pub struct Obstacles {
    /// Curves as points, dense enough that a label cannot slip between two of them.
    points: Vec<(f64, f64)>,
    boxes: Vec<[f64; 4]>,
}

impl Obstacles {
    /// Adds a curve; gaps between its points are filled.
    pub fn curve(&mut self, points: &[(f64, f64)]) {
        for pair in points.windows(2) {
            let ((x1, y1), (x2, y2)) = (pair[0], pair[1]);
            let steps = ((x2 - x1).abs().max((y2 - y1).abs()) / 4.0).ceil().max(1.0) as usize;
            for i in 0..=steps {
                let t = i as f64 / steps as f64;
                self.points.push((x1 + (x2 - x1) * t, y1 + (y2 - y1) * t));
            }
        }
        self.points.extend(points.first());
    }

    /// Adds an area: left, top, right, bottom.
    pub fn area(&mut self, bounds: [f64; 4]) {
        self.boxes.push(bounds);
    }

    /// Returns how much a label here would cover; 0 = free.
    pub fn covered(&self, [l, t, r, b]: [f64; 4]) -> usize {
        let margin = 3.0;
        let on =
            |p: &&(f64, f64)| p.0 > l - margin && p.0 < r + margin && p.1 > t - margin && p.1 < b + margin;
        let boxes = self
            .boxes
            .iter()
            .filter(|o| l - 5.0 < o[2] && o[0] < r + 5.0 && t - 2.0 < o[3] && o[1] < b + 2.0);
        self.points.iter().filter(on).count() + 60 * boxes.count()
    }

    /// Places a label like `place`, but only if it covers nothing.
    pub fn place_free(
        &mut self,
        places: &[(f64, f64)],
        within: [f64; 4],
        text: impl Fn(f64, f64) -> Text,
    ) -> Option<Text> {
        let free: Vec<_> =
            places.iter().copied().filter(|p| self.covered(text(p.0, p.1).bounds()) == 0).collect();
        self.place(free, within, text)
    }

    /// Places the text at the best of `places`, in order of preference; `within` = left, top, right,
    /// bottom.
    pub fn place(
        &mut self,
        places: impl IntoIterator<Item = (f64, f64)>,
        within: [f64; 4],
        text: impl Fn(f64, f64) -> Text,
    ) -> Option<Text> {
        let mut best: Option<(usize, Text)> = None;
        for (x, y) in places {
            let candidate = text(x, y);
            let b = candidate.bounds();
            if b[0] < within[0] || b[1] < within[1] || b[2] > within[2] || b[3] > within[3] {
                continue;
            }
            let covered = self.covered(b);
            if best.as_ref().is_none_or(|(least, _)| covered < *least) {
                best = Some((covered, candidate));
            }
            if covered == 0 {
                break;
            }
        }
        let text = best?.1;
        self.boxes.push(text.bounds());
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_avoids_curves_and_other_labels() {
        let mut obstacles = Obstacles::default();
        obstacles.curve(&[(0.0, 50.0), (200.0, 50.0)]);
        let places = [(10.0, 52.0), (10.0, 30.0), (100.0, 30.0)];
        let page = [0.0, 0.0, 200.0, 100.0];
        let text = |x, y| Text::note(x, y, "label");
        let first = obstacles.place(places, page, text).unwrap();
        assert_eq!(first.bounds()[0], 10.0);
        assert!(first.bounds()[3] < 50.0);
        let second = obstacles.place(places, page, text).unwrap();
        assert_eq!(second.bounds()[0], 100.0);
        assert!(obstacles.place([(190.0, 30.0)], page, text).is_none(), "no room at the edge");
    }
}
