//! Which clients lost messages: the clients of all shards, by the fates of their deliveries.

use pushmark_model::plan::ArmPlan;
use pushmark_model::record;
use pushmark_model::run::Clients;

/// Returns the figures; `None` if no shard finished. `not_lost` is the number of publications of a channel
/// that were refused or never sent: a client that lacks only those has lost nothing.
pub(super) fn clients(
    told: &record::Clients,
    plan: &ArmPlan,
    not_lost: impl Fn(u32) -> u64,
) -> Option<Clients> {
    let mut clients = Clients {
        heard_all: told.heard_all,
        heard_some: told.more_heard_some,
        heard_none: told.more_heard_none,
        p50_max_us: told.p50_max_us,
        ..Clients::default()
    };
    for client in &told.lacking {
        let channels = plan.channels_of(client.connection.into());
        let nobodys: u64 = channels.into_iter().map(&not_lost).sum();
        let missing = u64::from(client.missing).saturating_sub(nobodys);
        clients.missing_max = clients.missing_max.max(missing);
        match client.heard {
            _ if missing == 0 && client.heard > 0 => clients.heard_all += 1,
            // All its missing deliveries had no publication.
            _ if missing == 0 => {}
            0 => clients.heard_none += 1,
            _ => clients.heard_some += 1,
        }
    }
    clients.owed = clients.heard_all + clients.heard_some + clients.heard_none;
    told.told.then_some(clients)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pushmark_model::record::Lacking;

    #[test]
    fn five_deaf_clients_are_not_a_tenth_of_everybodys_loss() {
        let plan = super::super::testing::arm();
        let of = |lost: &[(u32, u32)]| {
            let mut told = record::Clients::default();
            for &(missing, heard) in lost {
                told.count(Lacking { connection: 0, owed: missing + heard, missing, heard });
            }
            clients(&told, &plan, |_| 1).unwrap()
        };
        let deaf = of(&[(100, 0), (100, 0), (0, 100), (0, 100)]);
        assert_eq!((deaf.heard_none, deaf.heard_some, deaf.heard_all, deaf.missing_max), (2, 0, 2, 99));
        let all = of(&[(11, 90), (11, 90), (1, 99), (1, 0)]);
        assert_eq!((all.heard_none, all.heard_some, all.heard_all, all.missing_max), (0, 2, 1, 10));
        assert_eq!(all.owed, 3, "the last was owed one that was never published");
        assert_eq!(clients(&record::Clients::default(), &plan, |_| 0), None);
    }
}
