//! The option that names a backend.

use clap::Args;

/// The backend meant.
#[derive(Debug, Args)]
pub(super) struct OfBackend {
    /// The backend [default: the only one there is]
    #[arg(short = 'n', long = "backendID", alias = "backendId", value_name = "ID")]
    pub(super) backend: Option<String>,
}
