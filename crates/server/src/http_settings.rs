//! Where HTTP is served, as the configuration says.

use std::path::PathBuf;

use web::listener::HttpListener;

/// The HTTP handlers as configured.
#[derive(Debug, Clone, Default)]
pub struct HttpSettings {
    /// Where it listens.
    pub listeners: Vec<HttpListener>,
    /// By the handler's name, the file with the token for metrics.
    pub tokens: Vec<(String, PathBuf)>,
}
