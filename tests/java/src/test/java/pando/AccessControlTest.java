package pando;

import static org.junit.jupiter.api.Assertions.*;
import static pando.UnboundIdTest.*;

import com.unboundid.ldap.sdk.*;
import com.unboundid.ldap.sdk.controls.*;
import com.unboundid.ldap.sdk.extensions.*;
import com.unboundid.ldap.sdk.unboundidds.controls.*;
import org.junit.jupiter.api.*;

/** The UnboundID SDK as plain users: acting as somebody else, and asking for rights. */
class AccessControlTest {
  static final String PLACE = "ou=Access," + BASE;
  static final String APP = "uid=app," + PLACE, ANN = "uid=ann," + PLACE;

  LDAPConnection root, app;

  @BeforeEach
  void connect() throws Exception {
    root = new LDAPConnection("127.0.0.1", PORT, ROOT_DN, ROOT_PW);
    root.add("dn: " + PLACE, "objectClass: organizationalUnit", "ou: Access",
        "aci: (targetcontrol=\"2.16.840.1.113730.3.4.18 || 2.16.840.1.113730.3.4.12 || 1.3.6.1.4.1.42.2.27.9.5.2\")(version 3.0; acl \"controls\"; allow (read) userdn=\"ldap:///all\";)",
        "aci: (target=\"ldap:///" + ANN + "\")(version 3.0; acl \"app acts as ann\"; allow (proxy) userdn=\"ldap:///" + APP + "\";)",
        "aci: (targetattr=\"aclRights || aclRightsInfo\")(version 3.0; acl \"rights\"; allow (read) userdn=\"ldap:///all\";)",
        "aci: (targetattr=\"title\")(version 3.0; acl \"titles\"; allow (write) userdn=\"ldap:///" + ANN + "\";)");
    for (String uid : new String[] {"app", "ann"}) {
      root.add("dn: uid=" + uid + "," + PLACE, "objectClass: inetOrgPerson", "uid: " + uid, "cn: " + uid, "sn: Access", "userPassword: secret12", "ds-privilege-name: proxied-auth");
    }
    app = new LDAPConnection("127.0.0.1", PORT, APP, "secret12");
  }

  @AfterEach
  void close() throws Exception {
    DeleteRequest d = new DeleteRequest(PLACE);
    d.addControl(new SubtreeDeleteRequestControl());
    root.delete(d);
    root.close();
    app.close();
  }

  static ModifyRequest title(String dn, String value, Control... controls) {
    return new ModifyRequest(dn, new Modification[] {new Modification(ModificationType.REPLACE, "title", value)}, controls);
  }

  @Test
  void anApplicationActsAsAUser() throws Exception {
    refused(ResultCode.INSUFFICIENT_ACCESS_RIGHTS, () -> app.modify(title(APP, "own")));
    Control[] forms = {new ProxiedAuthorizationV2RequestControl("dn:" + ANN), new ProxiedAuthorizationV1RequestControl(ANN)};
    for (Control form : forms) {
      String value = form.getClass().getSimpleName();
      assertEquals(ResultCode.SUCCESS, app.modify(title(APP, value, form)).getResultCode());
      SearchResultEntry entry = root.getEntry(APP, "title", "modifiersName");
      assertEquals(value, entry.getAttributeValue("title"));
      assertEquals(ANN, entry.getAttributeValue("modifiersName"));
      SearchRequest search = new SearchRequest(PLACE, SearchScope.SUB, "(uid=app)");
      search.addControl(form);
      assertEquals(1, app.search(search).getEntryCount());
      WhoAmIExtendedRequest who = new WhoAmIExtendedRequest(new Control[] {form});
      assertEquals("dn:" + ANN, ((WhoAmIExtendedResult) app.processExtendedOperation(who)).getAuthorizationID());
    }
    for (String other : new String[] {"dn:uid=nobody," + PLACE, "dn:uid=user.1," + PEOPLE, "dn:" + ROOT_DN, "u:user.1"}) {
      refused(ResultCode.AUTHORIZATION_DENIED, () -> app.modify(title(APP, "no", new ProxiedAuthorizationV2RequestControl(other))));
    }
    // The right is the application's alone.
    try (LDAPConnection ann = new LDAPConnection("127.0.0.1", PORT, ANN, "secret12")) {
      refused(ResultCode.AUTHORIZATION_DENIED, () -> ann.modify(title(APP, "no", new ProxiedAuthorizationV1RequestControl(APP))));
    }
  }

  @Test
  void rightsAreTold() throws Exception {
    SearchRequest search = new SearchRequest(APP, SearchScope.BASE, "(objectClass=*)", "cn", "aclRights", "aclRightsInfo");
    search.addControl(new GetEffectiveRightsRequestControl("dn:" + ANN, "title", "sn", "userPassword"));
    EffectiveRightsEntry rights = new EffectiveRightsEntry(app.searchForEntry(search));
    assertTrue(rights.rightsInformationAvailable());
    assertTrue(rights.hasEntryRight(EntryRight.READ));
    assertFalse(rights.hasEntryRight(EntryRight.DELETE));
    for (AttributeRight right : new AttributeRight[] {AttributeRight.READ, AttributeRight.SEARCH, AttributeRight.COMPARE}) {
      assertTrue(rights.hasAttributeRight(right, "cn"), right.getName());
      assertFalse(rights.hasAttributeRight(right, "userPassword"), right.getName());
    }
    assertTrue(rights.hasAttributeRight(AttributeRight.WRITE, "title"));
    assertFalse(rights.hasAttributeRight(AttributeRight.WRITE, "sn"));
    assertNotNull(rights.getAttributeValue("aclRightsInfo;logs;attributeLevel;write;title"));
    SearchRequest wrong = new SearchRequest(APP, SearchScope.BASE, "(objectClass=*)", "aclRights");
    wrong.addControl(new GetEffectiveRightsRequestControl("nobody at all"));
    refused(ResultCode.PROTOCOL_ERROR, () -> app.search(wrong));
  }
}
