//! Message of the module `auto_sdl`.

use control::api::{Api, Message};
use net::Router;

use super::Settings;

/// Enable or disable it: unfinished connections lead to the source deny list.
#[derive(Message)]
pub struct AutoSdlConfig {
    /// unfinished connections that lead to the list
    #[preset(5)]
    pub threshold: u32,
    /// seconds on the list
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
