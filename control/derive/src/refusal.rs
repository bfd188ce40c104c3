//! `#[derive(Refusal)]`: why a request is refused, once for commands and messages.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Data, DeriveInput, Error, Fields, Ident, Variant};

use crate::field::doc;

pub fn refusal(input: &DeriveInput) -> syn::Result<TokenStream> {
    let Data::Enum(data) = &input.data else {
        return Err(Error::new_spanned(&input.ident, "expected an enum"));
    };
    let name = &input.ident;
    let texts = data.variants.iter().map(text).collect::<syn::Result<Vec<_>>>()?;
    let numbers = data.variants.iter().map(|v| number(name, v)).collect::<syn::Result<Vec<_>>>()?;
    Ok(quote! {
        impl ::core::fmt::Display for #name {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                match self { #(#texts),* }
            }
        }
        impl ::std::error::Error for #name {}
        impl ::core::convert::From<#name> for ::control::cli::Error {
            fn from(error: #name) -> Self {
                Self::new(error.to_string())
            }
        }
        impl ::core::convert::From<#name> for ::control::api::Retval {
            fn from(error: #name) -> Self {
                match error { #(#numbers),* }
            }
        }
    })
}

/// The arm of `Display`: the doc comment as a format string over the variant's fields.
fn text(variant: &Variant) -> syn::Result<TokenStream> {
    let (name, text) = (&variant.ident, doc(&variant.attrs));
    if text.is_empty() {
        let message = "needs a doc comment: it is the text of the error";
        return Err(Error::new_spanned(variant, message));
    }
    Ok(match &variant.fields {
        Fields::Unit => quote!(Self::#name => ::core::write!(f, #text)),
        Fields::Unnamed(fields) => {
            let names: Vec<_> = (0..fields.unnamed.len()).map(|n| format_ident!("v{n}")).collect();
            quote!(Self::#name(#(#names),*) => ::core::write!(f, #text, #(#names),*))
        }
        Fields::Named(fields) => {
            let names = fields.named.iter().filter_map(|field| field.ident.as_ref());
            quote!(Self::#name { #(#names),* } => ::core::write!(f, #text))
        }
    })
}

/// The arm of the conversion to `Retval`.
fn number(error: &Ident, variant: &Variant) -> syn::Result<TokenStream> {
    let name = &variant.ident;
    let Some(attr) = variant.attrs.iter().find(|a| a.path().is_ident("retval")) else {
        return Err(Error::new_spanned(variant, "needs #[retval(NAME)]: what clients get"));
    };
    let retval: Ident = attr.parse_args()?;
    Ok(quote!(#error::#name { .. } => Self::#retval))
}
