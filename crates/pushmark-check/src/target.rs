//! A target without the contract: the templates by which it is reached.

use pushmark_model::plan::ArmPlan;

use super::endpoint::Endpoint;

/// A target by its templates.
pub struct Foreign {
    pub(super) arms: Vec<ArmPlan>,
    /// The port of a target that was started.
    pub(super) port: u16,
}

impl Foreign {
    /// Connects once for each transport, and to the publish address.
    pub(super) fn try_out(&self) -> anyhow::Result<()> {
        for arm in &self.arms {
            Endpoint::to_subscribe(arm, self.port)?.try_out()?;
            if let Some(endpoint) = Endpoint::to_publish(arm, self.port)? {
                endpoint.try_out()?;
            }
        }
        Ok(())
    }
}
