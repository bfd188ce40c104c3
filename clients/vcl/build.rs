//! Names the library as programs that were linked with the original's look for it.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libvppcom.so.26.10");
}
