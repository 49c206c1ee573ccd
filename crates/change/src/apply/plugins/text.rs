//! The plugins as a backend keeps them.

use config::Config;

/// Where the text of [`plugins_text`] is kept in `meta`.
pub const PLUGINS_KEY: &[u8] = b"plugins";

/// The plugins as a backend keeps them: whether there are other backends, whose entries may refer to this one's, then
/// the tables as [`Config::plugins_text`] writes them. No plugins make no bytes.
#[must_use]
pub fn plugins_text(config: &Config) -> Vec<u8> {
    if config.plugins_text.is_empty() {
        return Vec::new();
    }
    let backends = config.backends.iter().filter(|backend| backend.enabled).count();
    let mut text = vec![u8::from(backends > 1)];
    text.extend_from_slice(config.plugins_text.as_bytes());
    text
}
