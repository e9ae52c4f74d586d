//! What Bayeux adds to its transport: sessions, connects, advice, commands. One bar to scale,
//! then times as rows.

use pushmark_chart::numbers::PAGE;
use pushmark_chart::table::{Cell, Table};
use pushmark_model::run::Bayeux;
use pushmark_model::transport::Transport;

use super::asking::{Bar, Fill, Of, draw, time_bar, time_rows, with_tail};
use crate::case::{ArmView, Case};
use crate::figure::{Figure, HALF, both};

/// Draws Bayeux over long polling. Its requests are held, so it has the times of a long poller too.
pub(crate) fn long_polling(case: &Case<'_>) -> Option<Figure> {
    let held: [(&'static str, Of); 3] = [
        ("subscribed", |a| a.connect.as_ref()?.subscribed.as_ref()),
        ("deaf", |a| a.long_poll.as_ref().map(|l| &l.deaf)),
        ("held too long", |a| a.long_poll.as_ref().map(|l| &l.hold_overshoot)),
    ];
    figure(case, Transport::Bayeux, "bayeux", "Bayeux over long polling", &held)
}

/// Draws Bayeux over WebSocket.
pub(crate) fn websocket(case: &Case<'_>) -> Option<Figure> {
    let times: [(&'static str, Of); 1] = [("subscribed", |a| a.connect.as_ref()?.subscribed.as_ref())];
    figure(case, Transport::BayeuxWebSocket, "bayeux-websocket", "Bayeux over WebSocket", &times)
}

fn figure(
    case: &Case<'_>,
    transport: Transport,
    id: &'static str,
    title: &str,
    times: &[(&'static str, Of)],
) -> Option<Figure> {
    let is_one = |a: &&ArmView<'_>| a.transport == transport;
    let arm = case.arms.iter().filter(is_one).find(|a| a.starts.iter().any(|s| s.bayeux.is_some()))?;
    let sum = |f: fn(&Bayeux) -> u64| -> u64 { sessions(arm).map(f).sum() };
    let connects = sum(|b| b.connects);
    let empty: Option<u64> = sessions(arm).map(|b| b.connects_empty).sum();
    let mut bars: Vec<Bar> = time_bar(arm).into_iter().collect();
    if let (Some(empty), 1..) = (empty, connects) {
        let parts = vec![
            ("with messages".to_string(), connects.saturating_sub(empty) as f64, Fill::Kept),
            ("without".to_string(), empty as f64, Fill::Hatched),
        ];
        bars.push(Bar { title: format!("{} connects", PAGE.count(connects)), parts });
    }
    let (wide, narrow) = both(HALF, |size| draw(case, arm, id, &bars, times, size));
    let anew = sum(|b| b.handshakes).saturating_sub(arm.starts.iter().map(|s| s.connections.opened).sum());
    let begun = match anew {
        0 => "No session had to start again".to_string(),
        1 => "1 session had to start again".to_string(),
        n => format!("{} sessions had to start again", PAGE.count(n)),
    };
    let order = if order_promised(arm) { "order is promised" } else { "order is not promised" };
    Some(Figure {
        id,
        title: format!("{title}: sessions and connects"),
        sentence: format!("{begun}; {order}."),
        caption: format!(
            "{}; subscribed = from connect to the subscribe reply; marker p50, tick p99",
            case.statistic()
        ),
        wide,
        narrow,
        table: with_tail(table(arm, times), arm),
    })
}

/// Whether the server promised message order in each start of this arm.
pub(crate) fn order_promised(arm: &ArmView<'_>) -> bool {
    sessions(arm).all(|b| b.order_promised)
}

fn sessions<'a>(arm: &'a ArmView<'_>) -> impl Iterator<Item = &'a Bayeux> {
    arm.starts.iter().filter_map(|s| s.bayeux.as_ref())
}

fn table(arm: &ArmView<'_>, times: &[(&'static str, Of)]) -> Table {
    let sum = |f: fn(&Bayeux) -> u64| Cell::count(sessions(arm).map(f).sum());
    let most = |f: fn(&Bayeux) -> u64| Cell::count(sessions(arm).map(f).max().unwrap_or(0));
    let mean = |f: fn(&Bayeux) -> Option<f64>| {
        Cell::number(arm.estimate(|a| f(a.bayeux.as_ref()?), false).map(|e| e.value))
    };
    let mut table = Table::new(&[("quantity", "quantity"), ("value", "value")]);
    let mut push = |name: &str, cell: Cell| table.push(vec![Cell::text(name), cell]);
    push("handshakes", sum(|b| b.handshakes));
    push("refused as unknown client (402)", sum(|b| b.unknown_client));
    push("connects", sum(|b| b.connects));
    let empty: Option<u64> = sessions(arm).map(|b| b.connects_empty).sum();
    push("of them answered without a message", empty.map_or_else(Cell::absent, Cell::count));
    push("messages per non-empty answer, mean", mean(|b| b.messages_per_reply));
    push("advised to retry", sum(|b| b.advice.retry));
    push("advised to handshake", sum(|b| b.advice.handshake));
    push("advised not to retry", sum(|b| b.advice.none));
    push("treated as several sessions of one browser", sum(|b| b.advice.multiple_clients));
    push("pauses made as advised", sum(|b| b.advice.interval_obeyed));
    push("hold advised, s", mean(|b| b.hold_advised_us.map(|us| us as f64 / 1e6)));
    push("commands", sum(|b| b.commands));
    push("second connections made", sum(|b| b.second_connections));
    push("maximum open at once", most(|b| b.second_open_max));
    time_rows(&mut table, arm, times);
    table
}
