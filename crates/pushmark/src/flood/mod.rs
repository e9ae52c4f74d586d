//! Floods: which limit one hit ([`diagnosis`], from [`evidence`]), and its curve ([`curve`]).

pub(crate) mod curve;
pub(crate) mod diagnosis;
pub(crate) mod evidence;
