//! Truth tests of counts at small scale: reported counts against known values, by both pollers. They share
//! the machine with other tests, since a count does not depend on when it was counted.

mod families;

macro_rules! by_both {
    ($($test:ident = $name:literal,)*) => {
        mod by_epoll {
            $(#[test]
            fn $test() {
                crate::families::holds($name, pushmark_model::poller::Poller::Epoll);
            })*
        }

        mod by_io_uring {
            $(#[test]
            fn $test() {
                crate::families::holds($name, pushmark_model::poller::Poller::IoUring);
            })*
        }

        const NAMES: &[&str] = &[$($name),*];
    };
}

by_both! {
    lost_doubled_and_swapped_deliveries_are_counted = "counts",
    what_is_not_what_was_published_is_counted = "corrupt",
    what_is_encoded_or_refused_is_told_from_loss = "payloads",
    half_a_crowd_is_reset = "reset",
    emitters_fall_silent = "silence",
    stamps_made_by_hand_are_seen_for_what_they_are = "values",
    polls_repair_what_a_push_lost_and_halves_add_up = "pull",
}

#[test]
fn every_family_is_here() {
    families::are_all(NAMES, true);
}
