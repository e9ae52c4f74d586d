//! Every message about a wrong scenario, as a user sees it (no colours, narrow).

use pushmark::scenario_file::{Asked, Loaded, Report, load};
use pushmark::server::registry::Registry;
use pushmark_model::scenario::Override;

fn load_bytes(bytes: &[u8], overrides: &[Override]) -> Result<Loaded, Report> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.toml");
    std::fs::write(&path, bytes).unwrap();
    std::fs::write(folder.path().join("users.csv"), "name,token\nanna,t1\n").unwrap();
    let loaded = load(&Asked::File(&path), overrides, &Registry::embedded());
    loaded.map_err(|report| {
        let folder = format!("{}/", folder.path().display());
        Report { file: report.file.replace(&folder, ""), ..report }
    })
}

fn shown(bytes: &[u8], overrides: &[Override]) -> String {
    load_bytes(bytes, overrides).expect_err("this scenario is wrong").render(false, 72)
}

/// What is shown for a scenario on the builtin server.
fn builtin(text: &str) -> String {
    shown(format!("{text}\n[target]\nserver = \"builtin\"\n").as_bytes(), &[])
}

/// What is shown for a scenario with an `sse` target of one's own.
fn own(text: &str) -> String {
    shown(format!("{text}\n[target.subscribe]\nsse = \"http://h:1/{{channels}}\"\n").as_bytes(), &[])
}

/// What is shown for a flag on the builtin server.
fn flag(edit: Override) -> String {
    shown(b"[target]\nserver = \"builtin\"\n", &[edit])
}

#[test]
fn an_unknown_key_is_named_with_the_nearest() {
    insta::assert_snapshot!(builtin("[load]\nconections = 10"));
}

#[test]
fn an_unknown_table_is_named_with_the_nearest() {
    insta::assert_snapshot!(builtin("[laod]\nconnections = 10"));
}

#[test]
fn all_errors_are_shown_at_once() {
    insta::assert_snapshot!(builtin(r#"seeed = 1
[load]
connections = "many"
duration = 10
settle = "1 parsec""#));
}

#[test]
fn syntax() {
    insta::assert_snapshot!(builtin("[load\nconnections = 1"));
}

#[test]
fn a_key_given_twice() {
    insta::assert_snapshot!(builtin("[load]\nconnections = 1\nconnections = 2"));
}

#[test]
fn a_negative_count() {
    insta::assert_snapshot!(builtin("[load]\nconnections = -5"));
}

#[test]
fn no_connections() {
    insta::assert_snapshot!(builtin("[load]\nconnections = 0"));
}

#[test]
fn too_many_connections() {
    insta::assert_snapshot!(builtin("[load]\nconnections = 100_000_000"));
}

#[test]
fn a_duration_of_zero() {
    insta::assert_snapshot!(builtin(r#"[load]
duration = "0s""#));
}

#[test]
fn a_duration_beyond_all_bounds() {
    insta::assert_snapshot!(builtin(r#"[load]
warmup = "2000h""#));
}

#[test]
fn a_poll_interval_that_is_none() {
    insta::assert_snapshot!(builtin(r#"[load]
poll_interval = "often""#));
}

#[test]
fn a_key_inside_a_poll_interval() {
    insta::assert_snapshot!(builtin(r#"[load]
poll_interval = { intervall = "1s" }"#));
}

#[test]
fn a_pace_that_is_none() {
    insta::assert_snapshot!(builtin(r#"[load]
poll_interval = { pace = "after-answer" }"#));
}

#[test]
fn jitter_out_of_range() {
    insta::assert_snapshot!(builtin("[load]\npoll_interval = { jitter = 20 }"));
}

#[test]
fn a_reconnect_that_is_none() {
    insta::assert_snapshot!(builtin(r#"[load]
reconnect = "always""#));
}

#[test]
fn a_ramp_of_rate_and_steps() {
    insta::assert_snapshot!(builtin("[load]\nramp = { rate = 5, steps = [] }"));
}

#[test]
fn a_ramp_that_ends_elsewhere() {
    insta::assert_snapshot!(builtin(r#"[load]
ramp = { steps = [{ to = 500, over = "1s" }] }"#));
}

#[test]
fn a_ramp_that_never_ends() {
    insta::assert_snapshot!(builtin(r#"[load]
ramp = { rate = "1/h" }
connections = 2000"#));
}

#[test]
fn a_ramp_longer_than_the_phase_it_runs_in() {
    insta::assert_snapshot!(builtin("[load]\nramp = { rate = 10, during = true }"));
}

#[test]
fn a_deadline_beyond_the_drain() {
    insta::assert_snapshot!(builtin(r#"[load]
deadline = "5s""#));
}

#[test]
fn no_drain_at_all() {
    insta::assert_snapshot!(builtin(r#"[load]
drain = "0s""#));
}

#[test]
fn a_source_that_is_no_address() {
    insta::assert_snapshot!(builtin(r#"[load]
source_ips = ["127.0.0.300"]"#));
}

#[test]
fn a_rate_of_zero() {
    insta::assert_snapshot!(builtin(r#"[publisher]
rate = "0/s""#));
}

#[test]
fn a_negative_rate() {
    insta::assert_snapshot!(builtin("[publisher]\nrate = -3"));
}

#[test]
fn a_size_below_the_stamp() {
    insta::assert_snapshot!(builtin(r#"[publisher]
size = "47B""#));
}

#[test]
fn a_size_above_the_bound() {
    insta::assert_snapshot!(builtin(r#"[publisher]
size = "1GiB""#));
}

#[test]
fn a_size_range_upside_down() {
    insta::assert_snapshot!(builtin(r#"[publisher]
size = "1KiB..48B""#));
}

#[test]
fn a_mode_that_is_none() {
    insta::assert_snapshot!(builtin(r#"[publisher]
mode = "emiter""#));
}

#[test]
fn an_emitter_on_a_target_without() {
    insta::assert_snapshot!(own(r#"[publisher]
mode = "emitter""#));
}

#[test]
fn a_poisson_emitter() {
    insta::assert_snapshot!(builtin(r#"[publisher]
mode = "emitter"
arrivals = "poisson""#));
}

#[test]
fn an_emitter_of_many_sizes() {
    insta::assert_snapshot!(builtin(r#"[publisher]
mode = "emitter"
size = "48B..1KiB""#));
}

#[test]
fn a_publisher_without_a_way_to_publish() {
    insta::assert_snapshot!(own(r#"[publisher]
rate = "10/s""#));
}

#[test]
fn peers_on_a_transport_that_cannot_speak() {
    insta::assert_snapshot!(builtin(r#"transports = ["sse", "websocket"]
[publisher]
mode = "peer""#));
}

#[test]
fn peers_on_a_target_without_websocket() {
    insta::assert_snapshot!(own(r#"[publisher]
mode = "peer""#));
}

#[test]
fn more_channels_a_connection_than_there_are() {
    insta::assert_snapshot!(builtin("[subscriptions]\nchannels = 3\nper_connection = 4"));
}

#[test]
fn rooms_and_several_channels_a_connection() {
    insta::assert_snapshot!(builtin("[subscriptions]\nrooms = { size = 20 }\nper_connection = 2"));
}

#[test]
fn rooms_and_another_number_of_channels() {
    insta::assert_snapshot!(builtin("[subscriptions]\nrooms = { size = 20 }\nchannels = 3"));
}

#[test]
fn more_channels_than_a_stamp_can_name() {
    insta::assert_snapshot!(builtin("[subscriptions]\nchannels = 1_679_617"));
}

#[test]
fn two_channels_of_one_name() {
    insta::assert_snapshot!(builtin(r#"[subscriptions]
names = ["a", "b", "a"]"#));
}

#[test]
fn names_that_do_not_add_up() {
    insta::assert_snapshot!(builtin(r#"[subscriptions]
names = ["a", "b"]
channels = 3"#));
}

#[test]
fn an_unknown_metric() {
    insta::assert_snapshot!(builtin(r#"[thresholds]
"delivery.p97" = "< 50ms""#));
}

#[test]
fn a_threshold_without_a_unit() {
    insta::assert_snapshot!(builtin(r#"[thresholds]
"delivery.p99" = "< 50""#));
}

#[test]
fn a_threshold_without_an_operator() {
    insta::assert_snapshot!(builtin(r#"[thresholds]
"delivery.p99" = "50ms""#));
}

#[test]
fn a_threshold_on_what_is_never_measured() {
    insta::assert_snapshot!(own(r#"[thresholds]
"delivery.p99" = "< 50ms""#));
}

#[test]
fn an_unknown_transport() {
    insta::assert_snapshot!(builtin(r#"transports = ["sse", "websockets"]"#));
}

#[test]
fn no_transports() {
    insta::assert_snapshot!(builtin("transports = []"));
}

#[test]
fn a_transport_listed_twice() {
    insta::assert_snapshot!(builtin(r#"transports = ["sse", "ws", "websocket"]"#));
}

#[test]
fn a_transport_without_a_template() {
    insta::assert_snapshot!(own(r#"transports = ["sse", "poll"]"#));
}

#[test]
fn a_name_with_a_slash() {
    insta::assert_snapshot!(builtin(r#"name = "a/b""#));
}

#[test]
fn never_repeated() {
    insta::assert_snapshot!(builtin("repeat = 0"));
}

#[test]
fn no_target() {
    insta::assert_snapshot!(shown(br#"name = "x""#, &[]));
}

#[test]
fn an_unknown_server() {
    insta::assert_snapshot!(shown(br#"[target]
server = "bultin""#, &[]));
}

#[test]
fn a_server_and_templates() {
    insta::assert_snapshot!(shown(br#"[target]
server = "builtin"
[target.subscribe]
sse = "http://h/""#, &[]));
}

#[test]
fn websocket_over_http() {
    insta::assert_snapshot!(shown(br#"[target.subscribe]
websocket = "http://h:1/ws""#, &[]));
}

#[test]
fn sse_over_ws() {
    insta::assert_snapshot!(shown(br#"[target.subscribe]
sse = "ws://h:1/sse""#, &[]));
}

#[test]
fn tls() {
    insta::assert_snapshot!(shown(br#"[target.subscribe]
sse = "https://h/sse""#, &[]));
}

#[test]
fn secure_websocket() {
    insta::assert_snapshot!(shown(br#"[target.subscribe]
websocket = { url = "wss://h/ws" }"#, &[]));
}

#[test]
fn malformed_ipv6() {
    insta::assert_snapshot!(shown(br#"[target.subscribe]
sse = "http://[::1/sse""#, &[]));
}

#[test]
fn ipv6_without_brackets() {
    insta::assert_snapshot!(shown(br#"[target.subscribe]
sse = "http://::1:80/sse""#, &[]));
}

#[test]
fn port_zero() {
    insta::assert_snapshot!(shown(br#"[target.subscribe]
sse = "http://h:0/sse""#, &[]));
}

#[test]
fn no_url_at_all() {
    insta::assert_snapshot!(shown(br#"[target.subscribe]
sse = "localhost:8080/sse""#, &[]));
}

#[test]
fn credentials_in_a_url() {
    insta::assert_snapshot!(shown(br#"[target.subscribe]
sse = "http://u:p@h/sse""#, &[]));
}

#[test]
fn a_template_table_without_url() {
    insta::assert_snapshot!(shown(br#"[target.subscribe]
sse = { ready = "hello" }"#, &[]));
}

#[test]
fn a_place_that_is_none() {
    insta::assert_snapshot!(shown(br#"[target.subscribe]
websocket = { url = "ws://h/", after_open = ["sub {chanel}"] }"#, &[]));
}

#[test]
fn a_place_that_is_none_in_a_url() {
    insta::assert_snapshot!(shown(br#"[target.subscribe]
sse = "http://h/{chanel}""#, &[]));
}

#[test]
fn one_channel_for_many() {
    insta::assert_snapshot!(shown(br#"[subscriptions]
channels = 10
per_connection = 2
[target.subscribe]
sse = "http://h/{channel}""#, &[]));
}

#[test]
fn nothing_says_which_channel() {
    insta::assert_snapshot!(shown(br#"[subscriptions]
channels = 10
[target.subscribe]
sse = "http://h/all""#, &[]));
}

#[test]
fn publish_without_the_message() {
    insta::assert_snapshot!(shown(br#"[target.subscribe]
sse = "http://h/{channel}"
[target.publish]
url = "http://h/pub"
body = "hello""#, &[]));
}

#[test]
fn publish_without_the_channel() {
    insta::assert_snapshot!(shown(br#"[subscriptions]
channels = 2
[target.subscribe]
sse = "http://h/{channel}"
[target.publish]
url = "http://h/pub""#, &[]));
}

#[test]
fn a_client_field_without_a_table() {
    insta::assert_snapshot!(shown(br#"[target]
headers = { authorization = "Bearer {client.token}" }
[target.subscribe]
sse = "http://h/"
poll = "http://h/""#, &[]));
}

#[test]
fn a_client_field_without_a_column() {
    insta::assert_snapshot!(shown(br#"[target]
clients = "users.csv"
headers = { authorization = "Bearer {client.tokn}" }
[target.subscribe]
sse = "http://h/""#, &[]));
}

#[test]
fn a_clients_file_that_is_not_there() {
    insta::assert_snapshot!(shown(br#"[target]
clients = "user.csv"
[target.subscribe]
sse = "http://h/""#, &[]));
}

#[test]
fn a_header_of_two_lines() {
    insta::assert_snapshot!(shown(br#"[target]
headers = { x = "a\r\nb: c" }
[target.subscribe]
sse = "http://h/""#, &[]));
}

#[test]
fn a_cursor_from_nowhere() {
    insta::assert_snapshot!(shown(br#"[target.subscribe]
long-poll = "http://h/?since={cursor}""#, &[]));
}

#[test]
fn a_cursor_that_is_none() {
    insta::assert_snapshot!(shown(br#"[target.subscribe]
long-poll = { url = "http://h/?since={cursor}", cursor = "X-Cursor" }"#, &[]));
}

#[test]
fn a_cursor_on_a_push_transport() {
    insta::assert_snapshot!(shown(br#"[target.subscribe]
sse = { url = "http://h/", cursor = "header:x" }"#, &[]));
}

#[test]
fn websocket_messages_on_sse() {
    insta::assert_snapshot!(shown(br#"[target.subscribe]
sse = { url = "http://h/", after_open = ["x"] }"#, &[]));
}

#[test]
fn a_port_nobody_knows() {
    insta::assert_snapshot!(shown(br#"[target.subscribe]
sse = "http://h:{port}/sse""#, &[]));
}

#[test]
fn an_empty_command() {
    insta::assert_snapshot!(shown(br#"[target.subscribe]
sse = "http://h/"
[target.process]
start = []"#, &[]));
}

#[test]
fn peers_without_a_text() {
    insta::assert_snapshot!(shown(br#"transports = ["websocket"]
[target.subscribe]
websocket = "ws://h/"
[publisher]
mode = "peer""#, &[]));
}

#[test]
fn a_timestamp_without_a_pointer() {
    insta::assert_snapshot!(shown(br#"[target]
stamp = { json = "ts", unit = "ms" }
[target.subscribe]
sse = "http://h/""#, &[]));
}

#[test]
fn a_flag_is_named_instead_of_a_line() {
    insta::assert_snapshot!(flag(Override::set("load.connections=many").unwrap()));
}

#[test]
fn a_short_flag_is_named() {
    insta::assert_snapshot!(flag(Override::flag("-c", "load.connections", "0")));
}

#[test]
fn an_unknown_key_in_a_flag() {
    insta::assert_snapshot!(flag(Override::set("load.conections=5").unwrap()));
}

#[test]
fn a_flag_that_reaches_through_a_value() {
    insta::assert_snapshot!(flag(Override::set("target.server.name=5").unwrap()));
}

#[test]
fn a_threshold_in_a_flag() {
    insta::assert_snapshot!(flag(Override::set("thresholds.delivery.p99=< 50").unwrap()));
}

#[test]
fn a_transport_in_a_flag() {
    insta::assert_snapshot!(flag(Override::flag("-t", "transports", "sse,webscket")));
}

#[test]
fn a_byte_order_mark() {
    insta::assert_snapshot!(shown("\u{feff}name = \"x\"\n".as_bytes(), &[]));
}

#[test]
fn not_utf_8() {
    insta::assert_snapshot!(shown(b"name = \"x\"\nanalysis = \"caf\xe9\"\n", &[]));
}

#[test]
fn utf_16() {
    insta::assert_snapshot!(shown(b"\xff\xfen\0a\0", &[]));
}

#[test]
fn an_edit_that_is_none() {
    let error = Override::set("load.connections").unwrap_err();
    insta::assert_snapshot!(Report::new("s.toml", "", vec![*error]).render(false, 72));
}

#[test]
fn a_file_that_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("fan-out.toml"), "").unwrap();
    let path = folder.path().join("fanout.toml");
    let report = load(&Asked::File(&path), &[], &Registry::embedded()).unwrap_err();
    let shown = report.render(false, 200).replace(&format!("{}/", folder.path().display()), "");
    insta::assert_snapshot!(shown);
}

#[test]
fn a_url_that_is_not_spoken() {
    let asked = Asked::argument(Some("https://example.org/events"), &[]);
    let report = load(&asked, &[], &Registry::embedded()).unwrap_err();
    insta::assert_snapshot!(report.render(false, 72));
}
