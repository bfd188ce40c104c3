//! The face of a shared object to the router.
//!
//! Safety contract: as of the module above; the names are those that the router looks for.

/// Makes the stamp of a plugin and what the router calls.
#[macro_export]
macro_rules! plugin {
    (name: $name:expr, version: $version:expr, about: $about:expr, requires: $needs:expr,
     start: $start:path $(,)?) => {
        const _: () = {
            #[used]
            // SAFETY: a section of its own, which only the router reads.
            #[unsafe(link_section = ".note.ferrovia")]
            static STAMP: $crate::abi::Stamp =
                $crate::abi::Stamp::new($name, $version, $about, "", $needs);
            // SAFETY: a shared object has one plugin, so each name is there once.
            #[unsafe(no_mangle)]
            extern "C" fn ferrovia_plugin_start(
                host: *const $crate::abi::Host,
                cx: *mut $crate::abi::Cx,
            ) -> ::std::ffi::c_int {
                // SAFETY: the router calls it.
                unsafe { $crate::raw::start(host, cx, $start) }
            }
            #[unsafe(no_mangle)]
            extern "C" fn ferrovia_plugin_end() {
                // SAFETY: the router calls it, when nothing of the plugin is in use.
                unsafe { $crate::raw::end() }
            }
        };
    };
}
