//! Clients without a cursor (`load.cursor = false`): each requests the next message, and misses messages
//! published between its answer and its next request.

use super::target::SubscribeTemplate;

/// The cursor that such a client sends: none, not even an empty one.
const CURSOR: &str = "{cursor}";

/// Returns the template without its cursor, and without query parameters and header lines that contain only
/// the cursor.
pub(super) fn forgetful(template: &SubscribeTemplate) -> SubscribeTemplate {
    let mut template = SubscribeTemplate { cursor: None, ..template.clone() };
    template.url = without_cursor(&template.url);
    template.headers.retain(|_, value| value != CURSOR);
    template
}

fn without_cursor(url: &str) -> String {
    let Some((path, query)) = url.split_once('?') else { return url.to_owned() };
    let is_cursor = |pair: &&str| pair.split_once('=').is_some_and(|(_, value)| value == CURSOR);
    let kept: Vec<&str> = query.split('&').filter(|pair| !is_cursor(pair)).collect();
    if kept.is_empty() { path.to_owned() } else { format!("{path}?{}", kept.join("&")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_nothing_but_the_cursor_goes() {
        for (url, left) in [
            ("http://h:1/lp?channel={channel}&since={cursor}", "http://h:1/lp?channel={channel}"),
            ("http://h:1/lp?since={cursor}", "http://h:1/lp"),
            (
                "http://h:1/lp?since={cursor}&hold={hold_ms}&x=a{cursor}",
                "http://h:1/lp?hold={hold_ms}&x=a{cursor}",
            ),
            ("http://h:1/lp/{cursor}", "http://h:1/lp/{cursor}"),
        ] {
            assert_eq!(without_cursor(url), left);
        }
        let headers = [("last", "{cursor}"), ("x-last", "id {cursor}")];
        let template = SubscribeTemplate {
            url: "http://h:1/lp".to_owned(),
            cursor: Some("header:X-Cursor".to_owned()),
            headers: headers.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
            ..SubscribeTemplate::default()
        };
        let left = forgetful(&template);
        assert_eq!(
            (left.cursor, left.headers.into_keys().collect::<Vec<_>>()),
            (None, vec!["x-last".into()])
        );
    }
}
