//! Stocks whose prices walk at random: the same walk for the same seed. Pure.

use pushmark_model::draw::{Draw, Purpose};
use serde_json::json;

/// Channel and name; the companies are invented.
const STOCKS: [(&str, &str); 4] = [
    ("ARBR", "Arbour Timber"),
    ("KELP", "Kelpie Shipping"),
    ("LUMO", "Lumo Lamps"),
    ("QUAY", "Quayside Foods"),
];

/// A step is at most this share of the price, either way.
const STEP: f64 = 0.01;

/// The stocks, and when their next quotes are due.
#[derive(Clone, Debug)]
pub struct Market {
    every_ns: u64,
    stocks: Vec<Stock>,
}

#[derive(Clone, Debug)]
struct Stock {
    draw: Draw,
    cents: u64,
    number: u64,
}

/// A new price of one stock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quote {
    /// The channel on which it is published.
    pub channel: &'static str,
    /// When, from the market's opening.
    pub due_ns: u64,
    cents: u64,
    number: u64,
    every_ns: u64,
}

impl Quote {
    /// The message; `opened_ns` is the instant of the market's opening.
    pub fn message(&self, opened_ns: u64) -> String {
        json!({
            "stock": self.channel,
            "n": self.number,
            "price": self.cents as f64 / 100.0,
            "created_us": (opened_ns + self.due_ns) / 1_000,
            "every_us": self.every_ns / 1_000,
        })
        .to_string()
    }
}

impl Market {
    /// A market whose stocks each have `rate` new quotes a second.
    pub fn new(seed: u64, rate: f64) -> Market {
        let stocks = (0..STOCKS.len() as u64).map(|index| {
            let mut draw = Draw::new(seed, Purpose::Quotes, index);
            let cents = 2_000 + draw.below(18_000);
            Stock { draw, cents, number: 0 }
        });
        // Whole µs, as messages have it.
        Market { every_ns: ((1e6 / rate) as u64).max(1) * 1_000, stocks: stocks.collect() }
    }

    /// Channel and name of each.
    pub fn stocks(&self) -> &'static [(&'static str, &'static str)] {
        &STOCKS
    }

    /// Time between two quotes of one stock.
    pub fn every_ns(&self) -> u64 {
        self.every_ns
    }
}

/// Iterates over all quotes, in order. The schedule is absolute: quote n of a stock is due at n × every, each
/// stock a little after the one before.
impl Iterator for Market {
    type Item = Quote;

    fn next(&mut self) -> Option<Quote> {
        let (index, stock) = self.stocks.iter_mut().enumerate().min_by_key(|(_, stock)| stock.number)?;
        let number = stock.number;
        stock.number += 1;
        let share = 1.0 + STEP * (2.0 * stock.draw.unit() - 1.0);
        // At least a cent, so that every quote changes the price.
        let moved = ((stock.cents as f64 * share).round() as u64).max(100);
        stock.cents = if moved == stock.cents { moved + 1 } else { moved };
        Some(Quote {
            channel: STOCKS[index].0,
            due_ns: number * self.every_ns + index as u64 * self.every_ns / STOCKS.len() as u64,
            cents: stock.cents,
            number,
            every_ns: self.every_ns,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_a_walk() {
        let quotes = |seed| Market::new(seed, 4.0).take(200).collect::<Vec<Quote>>();
        assert_eq!(quotes(7), quotes(7));
        assert_ne!(quotes(7), quotes(8));
    }

    #[test]
    fn quotes_are_due_in_order_and_each_changes_the_price() {
        let quotes: Vec<Quote> = Market::new(3, 4.0).take(400).collect();
        assert!(quotes.is_sorted_by_key(|quote| quote.due_ns));
        assert_eq!(quotes[399].due_ns, 99 * 250_000_000 + 187_500_000);
        for (channel, _) in STOCKS {
            let own: Vec<&Quote> = quotes.iter().filter(|quote| quote.channel == channel).collect();
            assert!(own.iter().enumerate().all(|(n, quote)| quote.number == n as u64));
            for pair in own.windows(2) {
                let (from, to) = (pair[0].cents as f64, pair[1].cents as f64);
                assert!(from != to && (from - to).abs() <= from * STEP + 1.5, "{from} {to}");
            }
        }
    }

    #[test]
    fn a_message_says_when_it_was_created() {
        let quote = Market::new(3, 4.0).nth(1).unwrap();
        let message: serde_json::Value = serde_json::from_str(&quote.message(1_000_000)).unwrap();
        assert_eq!(message["created_us"], 1_000 + 62_500);
        assert_eq!((&message["n"], &message["every_us"]), (&json!(0), &json!(250_000)));
    }
}
