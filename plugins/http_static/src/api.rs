//! API messages of the module `http_static`.

use net::prelude::*;

use super::{Settings, add, disable, main_server};

/// Start the server.
#[derive(Message)]
#[option("deprecated")]
pub struct HttpStaticEnableV4 {
    /// FIFO size of a connection in bytes, for each direction
    pub fifo_size: u32,
    /// size of the file cache in bytes
    pub cache_size_limit: u32,
    /// seconds for which clients may cache a file
    #[preset(600)]
    pub max_age: u32,
    /// idle timeout of a connection in seconds
    #[preset(60)]
    pub keepalive_timeout: u32,
    /// largest request body in bytes
    #[preset(8000)]
    pub max_body_size: u64,
    /// ignored
    pub prealloc_fifos: u32,
    /// ignored
    pub private_segment_size: u32,
    /// folder of the files
    pub www_root: Text<256>,
    /// endpoint
    pub uri: Text<256>,
}

/// Start the server.
#[derive(Message)]
pub struct HttpStaticEnableV5 {
    /// FIFO size of a connection in bytes, for each direction
    pub fifo_size: u32,
    /// size of the file cache in bytes
    pub cache_size_limit: u32,
    /// seconds for which clients may cache a file
    #[preset(600)]
    pub max_age: u32,
    /// idle timeout of a connection in seconds
    #[preset(60)]
    pub keepalive_timeout: u32,
    /// largest request body in bytes
    #[preset(8192)]
    pub max_body_size: u64,
    /// receive threshold in bytes; only stored and reported
    #[preset(1048576)]
    pub rx_buff_thresh: u32,
    /// ignored
    pub prealloc_fifos: u32,
    /// ignored
    pub private_segment_size: u32,
    /// folder of the files
    pub www_root: Text<256>,
    /// endpoint
    pub uri: Text<256>,
}

/// Stop all servers.
#[derive(Message)]
pub struct HttpStaticDisable {}

/// Get the settings of the server.
#[derive(Message)]
#[reply(HttpStaticGetReply)]
pub struct HttpStaticGet {}

/// Reply: the settings.
#[derive(Message, Default)]
#[head(details)]
pub struct HttpStaticGetReply {
    /// 0, or an error number as an unsigned number
    pub retval: u32,
    /// FIFO size of a connection in bytes, for each direction
    pub fifo_size: u32,
    /// size of the file cache in bytes
    pub cache_size_limit: u32,
    /// seconds for which clients may cache a file
    pub max_age: u32,
    /// idle timeout of a connection in seconds
    pub keepalive_timeout: u32,
    /// largest request body in bytes
    pub max_body_size: u64,
    /// receive threshold in bytes; only stored and reported
    pub rx_buff_thresh: u32,
    /// folder of the files
    pub www_root: Text<256>,
    /// endpoint
    pub uri: Text<256>,
}

fn enable(router: &mut Router, m: HttpStaticEnableV5) -> Result<(), Retval> {
    let mut settings = Settings {
        www_root: m.www_root.to_string(),
        fifo_size: m.fifo_size,
        max_age: m.max_age,
        keepalive_timeout: m.keepalive_timeout,
        max_body_size: m.max_body_size,
        rx_buff_thresh: m.rx_buff_thresh,
        ..Settings::default()
    };
    if m.cache_size_limit > 0 {
        settings.cache_size = u64::from(m.cache_size_limit);
    }
    if !m.uri.to_string().is_empty() {
        settings.uri = m.uri.to_string();
    }
    Ok(add(router, settings, true)?)
}

fn get(router: &mut Router, _: HttpStaticGet) -> Result<HttpStaticGetReply, Retval> {
    let Some(server) = main_server(router) else {
        let retval = Retval::from(super::Error::None).0.cast_unsigned();
        return Ok(HttpStaticGetReply { retval, ..HttpStaticGetReply::default() });
    };
    let settings = &server.settings;
    Ok(HttpStaticGetReply {
        retval: 0,
        fifo_size: settings.fifo_size,
        cache_size_limit: u32::try_from(settings.cache_size).unwrap_or(u32::MAX),
        max_age: settings.max_age,
        keepalive_timeout: settings.keepalive_timeout,
        max_body_size: settings.max_body_size,
        rx_buff_thresh: settings.rx_buff_thresh,
        www_root: settings.www_root.as_str().into(),
        uri: settings.uri.as_str().into(),
    })
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("http_static", "2.5.0")
        .call(|router: &mut Router, m: HttpStaticEnableV4| {
            let new = HttpStaticEnableV5 {
                fifo_size: m.fifo_size,
                cache_size_limit: m.cache_size_limit,
                max_age: m.max_age,
                keepalive_timeout: m.keepalive_timeout,
                max_body_size: m.max_body_size,
                rx_buff_thresh: 1 << 20,
                prealloc_fifos: m.prealloc_fifos,
                private_segment_size: m.private_segment_size,
                www_root: m.www_root,
                uri: m.uri,
            };
            enable(router, new)
        })
        .call(enable)
        .call(|router: &mut Router, _: HttpStaticDisable| Ok(disable(router)?))
        .call(get);
}
