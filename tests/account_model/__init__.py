"""A slow and plain model of password policies: what a server should answer to a history of binds, changes and waits,
and what then stands at the accounts. Written from the reference on accounts and from
draft-behera-ldap-password-policy-11, not from the server."""
