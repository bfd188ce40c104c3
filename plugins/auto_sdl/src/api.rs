//! API message of the module `auto_sdl`.

use net::prelude::*;

use super::Settings;

/// Enable or disable denying of peers that leave connections half-open.
#[derive(Message)]
pub struct AutoSdlConfig {
    /// number of half-open connections after which a peer is denied
    #[preset(5)]
    pub threshold: u32,
    /// seconds for which a peer is denied
    #[preset(300)]
    pub remove_timeout: u32,
    /// true to enable, false to disable
    pub enable: bool,
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("auto_sdl", "1.0.0").call(|router: &mut Router, m: AutoSdlConfig| {
        let AutoSdlConfig { threshold, remove_timeout, enable } = m;
        if !enable {
            super::disable(router);
            return Ok(());
        }
        Ok(super::enable(router, Settings { threshold, remove_timeout })?)
    });
}
