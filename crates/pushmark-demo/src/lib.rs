//! The stock ticker of the push-pull study as pages: a market that publishes quotes to the built-in
//! server, and pages that show them by push and by pull and measure their own delay.

#![forbid(unsafe_code)]

mod market;
mod publisher;

use std::fmt::Write as _;
use std::sync::Arc;

use pushmark_builtin::Page;
use serde_json::json;

use pushmark_chart::tokens::PALETTE;

pub use market::Market;
pub use publisher::publish;

/// The pages: side by side, and each alone. They are one file; its path selects the view.
pub fn pages(market: &Market, pull_interval_ns: u64) -> Vec<Page> {
    let told = json!({
        "stocks": market.stocks().iter().map(|(channel, name)| json!({ "channel": channel, "name": name }))
            .collect::<Vec<_>>(),
        "every_us": market.every_ns() / 1_000,
        "pull_ms": pull_interval_ns / 1_000_000,
    });
    let html: Arc<str> = include_str!("ticker.html").replace("{{market}}", &told.to_string()).into();
    let css: Arc<str> = include_str!("ticker.css").replace("/* tokens */", &tokens()).into();
    let page = |path| Page { path, content_type: "text/html; charset=utf-8", body: Arc::clone(&html) };
    let script = |path, text: &str| Page { path, content_type: "text/javascript", body: text.into() };
    vec![
        page("/"),
        page("/push"),
        page("/pull"),
        Page { path: "/ticker.css", content_type: "text/css", body: css },
        script("/ticker.js", include_str!("ticker.js")),
        script("/hear.js", include_str!("hear.js")),
        script("/chart.js", include_str!("chart.js")),
    ]
}

/// The report's colours, for both themes.
fn tokens() -> String {
    let mut css = String::from(":root {");
    let mut dark = String::from("@media (prefers-color-scheme: dark) { :root {");
    for token in PALETTE {
        // Writing to memory.
        let _ = write!(css, " --{}: {};", token.name, token.light);
        let _ = write!(dark, " --{}: {};", token.name, token.dark);
    }
    format!("{css} }}\n{dark} }} }}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_have_their_market_and_both_themes() {
        let pages = pages(&Market::new(1, 2.0), 5_000_000_000);
        let body = |path: &str| pages.iter().find(|p| p.path == path).map(|p| p.body.to_string()).unwrap();
        assert_eq!(body("/"), body("/pull"));
        assert!(body("/").contains(r#""every_us":500000"#) && body("/").contains(r#""pull_ms":5000"#));
        assert!(!body("/").contains("{{"));
        let css = body("/ticker.css");
        assert!(css.contains("--ink: #16191d;") && css.contains("--ink: #e8ebef;"), "{css}");
        assert!(!css.contains("/* tokens */"));
        // Nothing is fetched from elsewhere.
        assert!(pages.iter().all(|page| !page.body.replace("http://www.w3.org/", "").contains("http")));
    }
}
