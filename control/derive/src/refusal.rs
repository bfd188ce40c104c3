//! `#[derive(Refusal)]`: why a request is refused, once for commands and messages.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Attribute, Data, DeriveInput, Error, Expr, Fields, Ident, Meta, Path, Variant};

use crate::field::doc;

pub fn refusal(input: &DeriveInput) -> syn::Result<TokenStream> {
    let name = &input.ident;
    let (text, retval, froms) = match &input.data {
        Data::Enum(data) => {
            let all = || data.variants.iter();
            let texts = all().map(text).collect::<syn::Result<Vec<_>>>()?;
            let numbers = all().map(|v| number(name, v)).collect::<syn::Result<Vec<_>>>()?;
            let froms = all().map(|v| from(name, v)).collect::<syn::Result<Vec<_>>>()?;
            (quote!(match self { #(#texts),* }), quote!(match error { #(#numbers),* }), froms)
        }
        _ => {
            let text = checked_doc(&input.attrs, name)?;
            let retval = retval(&input.attrs)?.ok_or_else(|| missing(name))?;
            (quote!(::core::write!(f, #text)), quote!({ let _ = error; #retval }), vec![])
        }
    };
    Ok(quote! {
        impl ::core::fmt::Display for #name {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                #text
            }
        }
        impl ::std::error::Error for #name {}
        impl ::core::convert::From<#name> for ::control::cli::Error {
            fn from(error: #name) -> Self {
                let text = error.to_string();
                Self::new(text).with_code(::control::api::Retval::from(error).0)
            }
        }
        impl ::core::convert::From<#name> for ::control::api::Retval {
            fn from(error: #name) -> Self {
                #retval
            }
        }
        #(#froms)*
    })
}

fn checked_doc(attrs: &[Attribute], name: &Ident) -> syn::Result<String> {
    let text = doc(attrs);
    let message = "needs a doc comment: it is the text of the error";
    if text.is_empty() { Err(Error::new_spanned(name, message)) } else { Ok(text) }
}

/// The arm of `Display`: the doc comment as a format string over the variant's fields.
fn text(variant: &Variant) -> syn::Result<TokenStream> {
    let name = &variant.ident;
    let text = checked_doc(&variant.attrs, name)?;
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

fn attribute<'a>(attrs: &'a [Attribute], name: &str) -> Option<&'a Attribute> {
    attrs.iter().find(|a| a.path().is_ident(name))
}

/// Value of `#[retval(…)]`: the name of a number that all messages have, or a number.
fn retval(attrs: &[Attribute]) -> syn::Result<Option<TokenStream>> {
    let Some(attr) = attribute(attrs, "retval") else { return Ok(None) };
    if let Ok(name) = attr.parse_args::<Ident>() {
        return Ok(Some(quote!(Self::#name)));
    }
    let number: Expr = attr.parse_args()?;
    Ok(Some(quote!(Self(#number))))
}

fn missing(name: &Ident) -> Error {
    Error::new_spanned(name, "needs #[retval(NAME)] or #[retval(-1)]: what clients get")
}

/// The arm of the conversion to `Retval`: the number of its own, or of the reason that it has.
fn number(error: &Ident, variant: &Variant) -> syn::Result<TokenStream> {
    let name = &variant.ident;
    match retval(&variant.attrs)? {
        Some(retval) => Ok(quote!(#error::#name { .. } => #retval)),
        None if attribute(&variant.attrs, "from").is_some() && variant.fields.len() == 1 => {
            Ok(quote!(#error::#name(why) => why.into()))
        }
        None => Err(missing(name)),
    }
}

/// Conversions into the variant: from the reason in it, or from those that `#[from(A, B)]` lists.
fn from(error: &Ident, variant: &Variant) -> syn::Result<TokenStream> {
    let (name, Some(attr)) = (&variant.ident, attribute(&variant.attrs, "from")) else {
        return Ok(TokenStream::new());
    };
    if let (Meta::Path(_), Some(field)) = (&attr.meta, variant.fields.iter().next()) {
        let why = &field.ty;
        return Ok(quote! {
            impl ::core::convert::From<#why> for #error {
                fn from(why: #why) -> Self {
                    Self::#name(why)
                }
            }
        });
    }
    type Listed = syn::punctuated::Punctuated<Path, syn::Token![,]>;
    let others = attr.parse_args_with(Listed::parse_terminated)?;
    let others = others.iter();
    Ok(quote! {#(
        impl ::core::convert::From<#others> for #error {
            fn from(_: #others) -> Self {
                Self::#name
            }
        }
    )*})
}
