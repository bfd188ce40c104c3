//! API messages that enable or disable the session layer and app sockets.

use control::api::{Api, Message, Retval};
use net::Router;

use super::super::published::Backend;
use super::super::{Error, check_enabled, disable, enable, namespaces};

control::numbers! {
    /// Backends for filtering connections.
    pub enum RtBackendEngine: u8 = "rt_backend_engine" in "" {
        DISABLE = 0 => "RT_BACKEND_ENGINE_API_DISABLE",
        RULE_TABLE = 1 => "RT_BACKEND_ENGINE_API_RULE_TABLE",
        NONE = 2 => "RT_BACKEND_ENGINE_API_NONE",
        SDL = 3 => "RT_BACKEND_ENGINE_API_SDL",
    }
}

/// Enable or disable the session layer.
#[derive(Message)]
#[option("deprecated")]
pub struct SessionEnableDisable {
    /// true to enable it with session rules, false to disable it
    #[preset(true)]
    pub is_enable: bool,
}

/// Enable the session layer with a backend, or disable it.
#[derive(Message)]
pub struct SessionEnableDisableV2 {
    /// backend for filtering connections; 0 to disable the layer
    pub rt_engine_type: RtBackendEngine,
}

/// Enable or disable app sockets.
#[derive(Message)]
pub struct SessionSapiEnableDisable {
    /// true to enable, false to disable
    #[preset(true)]
    pub is_enable: bool,
}

fn switch(router: &mut Router, engine: RtBackendEngine) -> Result<(), Retval> {
    let backend = match engine {
        RtBackendEngine::DISABLE => {
            disable(router);
            return Ok(());
        }
        RtBackendEngine::RULE_TABLE => Backend::RuleTable,
        RtBackendEngine::NONE => Backend::None,
        RtBackendEngine::SDL => Backend::Sdl,
        _ => return Err(Retval::INVALID_VALUE),
    };
    Ok(enable(router, backend)?)
}

fn sockets(router: &mut Router, is_enable: bool) -> Result<(), Error> {
    check_enabled(router)?;
    if namespaces::all(router).count() > 1 {
        return Err(Error::NamespacesExist);
    }
    crate::apps::enable(router, is_enable)
}

pub(super) fn register(api: &mut Api<Router>) {
    api.core("session", super::VERSION)
        .call(|router: &mut Router, m: SessionEnableDisable| {
            let on = RtBackendEngine::RULE_TABLE;
            switch(router, if m.is_enable { on } else { RtBackendEngine::DISABLE })
        })
        .call(|router: &mut Router, m: SessionEnableDisableV2| switch(router, m.rt_engine_type))
        .call(|router: &mut Router, m: SessionSapiEnableDisable| Ok(sockets(router, m.is_enable)?));
}
