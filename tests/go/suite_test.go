// Package suite drives a running server with go-ldap, a client with its own BER code.
// PANDO_URL, PANDO_TLS_URL, PANDO_ROOT_DN, PANDO_ROOT_PW and PANDO_BASE say where the server is.
package suite

import (
	"crypto/tls"
	"fmt"
	"os"
	"testing"

	"github.com/go-ldap/ldap/v3"
)

func people() string { return "ou=People," + os.Getenv("PANDO_BASE") }

func connect(t *testing.T) *ldap.Conn {
	t.Helper()
	c, err := ldap.DialURL(os.Getenv("PANDO_URL"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.Bind(os.Getenv("PANDO_ROOT_DN"), os.Getenv("PANDO_ROOT_PW")); err != nil {
		t.Fatal(err)
	}
	return c
}

func find(t *testing.T, c *ldap.Conn, base string, scope int, filter string, attrs ...string) []*ldap.Entry {
	t.Helper()
	r, err := c.Search(ldap.NewSearchRequest(base, scope, ldap.NeverDerefAliases, 0, 0, false, filter, attrs, nil))
	if err != nil {
		t.Fatalf("%s: %v", filter, err)
	}
	return r.Entries
}

func wantCode(t *testing.T, err error, code uint16) {
	t.Helper()
	if !ldap.IsErrorWithCode(err, code) {
		t.Fatalf("want result code %d, got %v", code, err)
	}
}

func TestBinds(t *testing.T) {
	c := connect(t)
	if err := c.Bind("uid=user.1,"+people(), "password"); err != nil {
		t.Fatal(err)
	}
	who, err := c.WhoAmI(nil)
	if err != nil || who.AuthzID != "dn:uid=user.1,"+people() {
		t.Fatal(who, err)
	}
	wantCode(t, c.Bind("uid=user.1,"+people(), "wrong"), ldap.LDAPResultInvalidCredentials)
	if err := c.UnauthenticatedBind(""); err != nil {
		t.Fatal(err)
	}
}

func TestSearches(t *testing.T) {
	c := connect(t)
	for filter, count := range map[string]int{"(uid=user.7)": 1, "(cn=*e*)": -1, "(&(l=Grove)(title=Gardener))": 3, "(!(objectClass=person))": 1, "(uid=user.1*)": 11, "(cn~=Neels Nettlefold)": 1} {
		found := find(t, c, people(), ldap.ScopeWholeSubtree, filter, "cn")
		if count >= 0 && len(found) != count || len(found) == 0 {
			t.Errorf("%s: %d entries", filter, len(found))
		}
	}
	_, err := c.Search(ldap.NewSearchRequest("uid=none,"+people(), ldap.ScopeBaseObject, 0, 0, 0, false, "(objectClass=*)", nil, nil))
	wantCode(t, err, ldap.LDAPResultNoSuchObject)
}

func TestUpdates(t *testing.T) {
	c := connect(t)
	dn := "uid=go.1," + people()
	add := ldap.NewAddRequest(dn, nil)
	add.Attribute("objectClass", []string{"inetOrgPerson"})
	add.Attribute("uid", []string{"go.1"})
	add.Attribute("cn", []string{"Go One"})
	add.Attribute("sn", []string{"One"})
	if err := c.Add(add); err != nil {
		t.Fatal(err)
	}
	wantCode(t, c.Add(add), ldap.LDAPResultEntryAlreadyExists)
	mod := ldap.NewModifyRequest(dn, nil)
	mod.Add("mail", []string{"go.1@example.com"})
	mod.Replace("sn", []string{"Uno"})
	if err := c.Modify(mod); err != nil {
		t.Fatal(err)
	}
	if found := find(t, c, people(), ldap.ScopeSingleLevel, "(mail=go.1@example.com)"); len(found) != 1 || found[0].GetAttributeValue("sn") != "Uno" {
		t.Fatal(found)
	}
	if same, err := c.Compare(dn, "sn", "UNO"); err != nil || !same {
		t.Fatal(same, err)
	}
	if err := c.ModifyDN(ldap.NewModifyDNRequest(dn, "uid=go.2", true, "ou=Strange,"+os.Getenv("PANDO_BASE"))); err != nil {
		t.Fatal(err)
	}
	dn = "uid=go.2,ou=Strange," + os.Getenv("PANDO_BASE")
	passwd, err := c.PasswordModify(ldap.NewPasswordModifyRequest(dn, "", ""))
	if err != nil || passwd.GeneratedPassword == "" {
		t.Fatal(passwd, err)
	}
	if err := connect(t).Bind(dn, passwd.GeneratedPassword); err != nil {
		t.Fatal(err)
	}
	if err := c.Del(ldap.NewDelRequest(dn, nil)); err != nil {
		t.Fatal(err)
	}
	wantCode(t, c.Del(ldap.NewDelRequest(dn, nil)), ldap.LDAPResultNoSuchObject)
}

func TestSubtreeDelete(t *testing.T) {
	c := connect(t)
	top := "ou=Go," + os.Getenv("PANDO_BASE")
	for i, dn := range []string{top, "ou=In," + top, "ou=Deeper,ou=In," + top} {
		add := ldap.NewAddRequest(dn, nil)
		add.Attribute("objectClass", []string{"organizationalUnit"})
		if err := c.Add(add); err != nil {
			t.Fatal(i, err)
		}
	}
	wantCode(t, c.Del(ldap.NewDelRequest(top, nil)), ldap.LDAPResultNotAllowedOnNonLeaf)
	if err := c.Del(ldap.NewDelRequest(top, []ldap.Control{ldap.NewControlSubtreeDelete()})); err != nil {
		t.Fatal(err)
	}
}

func TestTLS(t *testing.T) {
	insecure := &tls.Config{InsecureSkipVerify: true}
	c, err := ldap.DialURL(os.Getenv("PANDO_TLS_URL"), ldap.DialWithTLSConfig(insecure))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Bind(os.Getenv("PANDO_ROOT_DN"), os.Getenv("PANDO_ROOT_PW")); err != nil {
		t.Fatal(err)
	}
	plain, err := ldap.DialURL(os.Getenv("PANDO_URL"))
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	if err := plain.StartTLS(insecure); err != nil {
		t.Fatal(err)
	}
	if err := plain.Bind(os.Getenv("PANDO_ROOT_DN"), os.Getenv("PANDO_ROOT_PW")); err != nil {
		t.Fatal(err)
	}
}

func TestManyConnections(t *testing.T) {
	done := make(chan error)
	for n := 0; n < 20; n++ {
		go func(n int) {
			c, err := ldap.DialURL(os.Getenv("PANDO_URL"))
			if err != nil {
				done <- err
				return
			}
			defer c.Close()
			if err := c.Bind(fmt.Sprintf("uid=user.%d,%s", n%5, people()), "password"); err != nil {
				done <- err
				return
			}
			for i := 0; i < 50; i++ {
				r, err := c.Search(ldap.NewSearchRequest(people(), ldap.ScopeWholeSubtree, 0, 0, 0, false, fmt.Sprintf("(uid=user.%d)", i%5), nil, nil))
				if err != nil || len(r.Entries) != 1 {
					done <- fmt.Errorf("%v %v", r, err)
					return
				}
			}
			done <- nil
		}(n)
	}
	for n := 0; n < 20; n++ {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
