//! Moves labels apart if their marks are too close: at least 14 px, in the same order, with a leader to
//! what they name.

/// The smallest distance between two base lines.
pub const APART: f64 = 14.0;

/// Moves `places` apart to at least `gap`, within `low..=high`, as little as possible. The order of the
/// places is kept; the result is in the order given.
pub fn spread(places: &[f64], gap: f64, low: f64, high: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_by(|a, b| places[*a].total_cmp(&places[*b]).then(a.cmp(b)));
    // Blocks of touching labels, each centred on the mean of the wished places.
    let mut blocks: Vec<Vec<usize>> = Vec::new();
    let centre = |block: &[usize]| block.iter().map(|i| places[*i]).sum::<f64>() / block.len() as f64;
    let reach = |block: &[usize]| (block.len() - 1) as f64 * gap / 2.0;
    let middle = |block: &[usize]| {
        let (least, most) = (low + reach(block), high - reach(block));
        if least > most { (low + high) / 2.0 } else { centre(block).clamp(least, most) }
    };
    for index in order {
        blocks.push(vec![index]);
        while let [.., above, below] = blocks.as_slice() {
            if middle(below) - reach(below) - (middle(above) + reach(above)) >= gap - 1e-9 {
                break;
            }
            let below = blocks.pop().expect("two blocks");
            blocks.last_mut().expect("one block").extend(below);
        }
    }
    let mut out = vec![0.0; places.len()];
    for block in &blocks {
        let first = middle(block) - reach(block);
        for (i, index) in block.iter().enumerate() {
            out[*index] = first + i as f64 * gap;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_with_room_stay() {
        assert_eq!(spread(&[10.0, 50.0, 30.0], APART, 0.0, 100.0), [10.0, 50.0, 30.0]);
    }

    #[test]
    fn touching_labels_move_apart_evenly_and_keep_their_order() {
        assert_eq!(spread(&[50.0, 50.0, 50.0], 14.0, 0.0, 100.0), [36.0, 50.0, 64.0]);
        assert_eq!(spread(&[51.0, 49.0], 14.0, 0.0, 100.0), [57.0, 43.0]);
    }

    #[test]
    fn labels_stay_inside() {
        assert_eq!(spread(&[98.0, 99.0], 14.0, 0.0, 100.0), [86.0, 100.0]);
        assert_eq!(spread(&[1.0, 0.0], 14.0, 0.0, 100.0), [14.0, 0.0]);
    }
}
