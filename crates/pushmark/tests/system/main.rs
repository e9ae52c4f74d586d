//! pushmark as a process, from outside: commands, endings, files, targets, servers. Tests run beside each other;
//! none compares times closely.

#[path = "../tool/mod.rs"]
mod tool;

#[path = "../tool/page.rs"]
mod page;

#[path = "../tool/relay.rs"]
mod relay;

mod agents;
mod bayeux;
mod beside;
mod browser_probes;
mod check_command;
mod cli_commands;
mod cli_endings;
mod cli_gates;
mod cli_inputs;
mod cli_results;
mod cli_servers;
mod commands;
mod conversations;
mod deflate;
mod demo;
mod deploy;
mod endings;
mod exports;
mod feed;
mod foreign_bayeux;
mod foreign_http;
mod foreign_nchan;
mod foreign_ws;
mod instrumented;
mod kill_matrix;
mod logins;
mod machines;
mod monitors;
mod nats_cluster;
mod outages;
mod payloads;
mod publishing;
mod pull;
mod reconcile;
mod reconnect;
mod scenario_errors;
mod scenario_files;
mod secrets;
mod serve_guard;
mod server_endings;
mod servers;
mod servers_slow_emit;
mod silent_targets;
mod stopped_early;
mod study;
mod suite_again;
mod suite_errors;
mod suite_files;
mod suite_runs;
mod suite_slices;
mod tls;
