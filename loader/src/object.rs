//! A shared object in this process.
//!
//! Safety contract: only files whose stamp says that they are plugins for this interface are
//! opened; an author promises with it that constructors and functions are what the header says. An
//! [`Object`] is closed when nothing calls into it any more: its plugin's nodes, commands,
//! messages, timers and observers are gone, and all threads have passed a fence since.

use std::ffi::{CStr, CString, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::NonNull;

use ferrovia_sdk::abi;

/// A shared object that is mapped into this process.
#[derive(Debug)]
pub struct Object(NonNull<c_void>);

impl Object {
    /// Maps a file and runs its constructors. Undefined symbols are refused before that.
    ///
    /// # Errors
    /// The dynamic linker's text.
    pub fn open(path: &Path) -> Result<Self, String> {
        let name = CString::new(path.as_os_str().as_bytes()).map_err(|e| e.to_string())?;
        // SAFETY: the name ends with a NUL; what constructors do is the stamp's promise.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        NonNull::new(handle).map(Self).ok_or_else(error)
    }

    fn symbol(&self, name: &str) -> Option<*mut c_void> {
        let name = CString::new(name).ok()?;
        // SAFETY: the object is open, the name ends with a NUL.
        let found = unsafe { libc::dlsym(self.0.as_ptr(), name.as_ptr()) };
        (!found.is_null()).then_some(found)
    }

    /// The function that starts the plugin.
    pub fn start(&self) -> Option<abi::Start> {
        // SAFETY: by the stamp's promise a symbol of this name is a function of this type.
        self.symbol(abi::START)
            .map(|at| unsafe { std::mem::transmute::<*mut c_void, abi::Start>(at) })
    }

    /// The function that stops the plugin, if it has one.
    pub fn stop(&self) -> Option<abi::Stop> {
        // SAFETY: as above.
        self.symbol(abi::STOP)
            .map(|at| unsafe { std::mem::transmute::<*mut c_void, abi::Stop>(at) })
    }

    /// Makes the plugin free its memory, and removes it from this process.
    pub fn close(self) {
        if let Some(end) = self.symbol(abi::END) {
            // SAFETY: by the stamp's promise a function of this type; nothing of the plugin is in
            // use.
            unsafe { std::mem::transmute::<*mut c_void, abi::End>(end)() };
        }
        // SAFETY: open, and by the module's contract nothing of it is in use.
        unsafe { libc::dlclose(self.0.as_ptr()) };
    }
}

/// Last message of the dynamic linker.
fn error() -> String {
    // SAFETY: called on control's thread right after a call of the linker failed; the text is valid
    // until the next call.
    let text = unsafe { NonNull::new(libc::dlerror()).map(|text| CStr::from_ptr(text.as_ptr())) };
    text.map_or_else(|| "unknown".to_owned(), |text| text.to_string_lossy().into_owned())
}
