//! The limits at which an overlay is frozen and folded.

use std::time::Duration;

use crate::overlay::Overlay;

/// When an overlay is frozen and folded.
#[derive(Clone, Copy, Debug)]
pub struct FoldLimits {
    /// Memory of the overlay.
    pub bytes: usize,
    /// Changes in it.
    pub ops: u64,
    /// Bytes of their log records.
    pub log_bytes: u64,
    /// Time it took to apply them. A replay after a crash takes as long again, for this overlay and for the frozen one.
    pub apply: Duration,
    /// After so much time without updates everything is folded.
    pub idle: Duration,
}

impl Default for FoldLimits {
    fn default() -> FoldLimits {
        FoldLimits {
            bytes: 128 << 20,
            ops: 50_000,
            log_bytes: 64 << 20,
            apply: Duration::from_millis(700),
            idle: Duration::from_secs(1),
        }
    }
}

impl FoldLimits {
    /// How full the overlay is; from 1 on it is to be frozen.
    pub(crate) fn fill(&self, overlay: &Overlay) -> f64 {
        let part = |have: f64, limit: f64| have / limit.max(1.0);
        part(overlay.bytes as f64, self.bytes as f64)
            .max(part(overlay.ops as f64, self.ops as f64))
            .max(part(overlay.log_bytes as f64, self.log_bytes as f64))
            .max(part(overlay.apply_ns as f64, self.apply.as_nanos() as f64))
    }
}
