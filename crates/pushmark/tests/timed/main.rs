//! pushmark as a process where times are compared with bounds: nothing may run beside these tests.

#[path = "../tool/mod.rs"]
mod tool;

mod disturbed;
mod find_max;
mod second_opinion;
mod steered;
mod storms;
