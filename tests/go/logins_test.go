package suite

import (
	"os"
	"testing"

	"github.com/go-ldap/ldap/v3"
)

// TestLogins looks accounts up as a plain user whom PANDO_LOGIN_DN and PANDO_LOGIN_PW name; the server has the access
// profile posix-logins and data/logins.ldif.
func TestLogins(t *testing.T) {
	dn := os.Getenv("PANDO_LOGIN_DN")
	if dn == "" {
		t.Skip("PANDO_LOGIN_DN says who looks accounts up")
	}
	c, err := ldap.DialURL(os.Getenv("PANDO_URL"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Bind(dn, os.Getenv("PANDO_LOGIN_PW")); err != nil {
		t.Fatal(err)
	}
	ann := find(t, c, os.Getenv("PANDO_BASE"), ldap.ScopeWholeSubtree, "(&(objectClass=posixAccount)(uid=ann))", "uidNumber", "userPassword")
	if len(ann) != 1 || ann[0].GetAttributeValue("uidNumber") != "10001" || ann[0].GetAttributeValue("userPassword") != "" {
		t.Fatal(ann)
	}
	all, err := c.SearchWithPaging(ldap.NewSearchRequest(os.Getenv("PANDO_BASE"), ldap.ScopeWholeSubtree, ldap.NeverDerefAliases, 0, 0, false, "(objectClass=posixAccount)", []string{"uid"}, nil), 1)
	if err != nil || len(all.Entries) != 2 {
		t.Fatal(all, err)
	}
	if groups := find(t, c, os.Getenv("PANDO_BASE"), ldap.ScopeWholeSubtree, "(&(objectClass=posixGroup)(|(memberUid=ann)(member="+ann[0].DN+")))", "gidNumber"); len(groups) != 2 {
		t.Fatal(groups)
	}
	_, err = c.Compare(ann[0].DN, "userPassword", "ann-password")
	wantCode(t, err, ldap.LDAPResultInsufficientAccessRights)
	change := ldap.NewModifyRequest(ann[0].DN, nil)
	change.Replace("loginShell", []string{"/bin/true"})
	wantCode(t, c.Modify(change), ldap.LDAPResultInsufficientAccessRights)
	wantCode(t, c.Del(ldap.NewDelRequest(ann[0].DN, nil)), ldap.LDAPResultInsufficientAccessRights)
}
