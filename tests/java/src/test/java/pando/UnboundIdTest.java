package pando;

import static org.junit.jupiter.api.Assertions.*;

import com.unboundid.ldap.sdk.*;
import com.unboundid.ldap.sdk.controls.*;
import com.unboundid.ldap.sdk.extensions.*;
import com.unboundid.ldap.sdk.schema.Schema;
import com.unboundid.util.ssl.*;
import java.util.*;
import java.util.concurrent.*;
import org.junit.jupiter.api.*;

/** The UnboundID SDK, the strictest of the clients, drives a running server; the environment says where it is. */
class UnboundIdTest {
  static final String BASE = System.getenv("PANDO_BASE");
  static final String PEOPLE = "ou=People," + BASE;
  static final String ROOT_DN = System.getenv("PANDO_ROOT_DN");
  static final String ROOT_PW = System.getenv("PANDO_ROOT_PW");
  static final int PORT = Integer.parseInt(System.getenv("PANDO_PORT"));
  static final int TLS_PORT = Integer.parseInt(System.getenv("PANDO_TLS_PORT"));

  LDAPConnection c;

  @BeforeEach
  void connect() throws LDAPException {
    c = new LDAPConnection("127.0.0.1", PORT, ROOT_DN, ROOT_PW);
  }

  @AfterEach
  void close() {
    c.close();
  }

  static void refused(ResultCode code, org.junit.jupiter.api.function.Executable action) {
    assertEquals(code, assertThrows(LDAPException.class, action).getResultCode());
  }

  static Entry person(String uid) throws Exception {
    return new Entry("dn: uid=" + uid + "," + PEOPLE, "objectClass: inetOrgPerson", "uid: " + uid, "cn: " + uid, "sn: Sdk");
  }

  @Test
  void bindsOfEveryKind() throws Exception {
    c.bind("uid=user.1," + PEOPLE, "password");
    assertEquals("dn:uid=user.1," + PEOPLE, ((WhoAmIExtendedResult) c.processExtendedOperation(new WhoAmIExtendedRequest())).getAuthorizationID());
    refused(ResultCode.INVALID_CREDENTIALS, () -> c.bind("uid=user.1," + PEOPLE, "wrong"));
    c.bind("", "");
    assertEquals("", ((WhoAmIExtendedResult) c.processExtendedOperation(new WhoAmIExtendedRequest())).getAuthorizationID());
  }

  @Test
  void searchesStreamAndSelect() throws Exception {
    assertEquals(20, c.search(PEOPLE, SearchScope.SUB, "(objectClass=person)", "1.1").getEntryCount());
    SearchResultEntry e = c.getEntry("uid=user.7," + PEOPLE, "*", "+");
    assertTrue(e.hasAttribute("entryUUID") && e.hasAttribute("cn"));
    UUID.fromString(e.getAttributeValue("entryUUID"));
    SearchRequest limited = new SearchRequest(PEOPLE, SearchScope.SUB, "(objectClass=person)");
    limited.setSizeLimit(4);
    LDAPSearchException x = assertThrows(LDAPSearchException.class, () -> c.search(limited));
    assertEquals(ResultCode.SIZE_LIMIT_EXCEEDED, x.getResultCode());
    assertEquals(4, x.getEntryCount());
    assertEquals(1, c.search(BASE, SearchScope.SUB, Filter.createEqualityFilter("cn", "Comma, Plus+ Quote\" Hash#")).getEntryCount());
  }

  @Test
  void everyUpdate() throws Exception {
    assertEquals(ResultCode.SUCCESS, c.add(person("sdk.1")).getResultCode());
    refused(ResultCode.ENTRY_ALREADY_EXISTS, () -> c.add(person("sdk.1")));
    String dn = "uid=sdk.1," + PEOPLE;
    ModifyRequest m = new ModifyRequest(dn, new Modification(ModificationType.ADD, "mail", "sdk@example.com"), new Modification(ModificationType.REPLACE, "sn", "Changed"));
    m.addControl(new PreReadRequestControl(true, "sn"));
    m.addControl(new PostReadRequestControl(true, "sn", "mail", "modifiersName"));
    LDAPResult r = c.modify(m);
    assertNotNull(c.getEntry(dn, "+").getAttributeValueAsDate("modifyTimestamp"));
    assertEquals("Sdk", PreReadResponseControl.get(r).getEntry().getAttributeValue("sn"));
    assertEquals("Changed", PostReadResponseControl.get(r).getEntry().getAttributeValue("sn"));
    assertEquals(ROOT_DN, PostReadResponseControl.get(r).getEntry().getAttributeValue("modifiersName"));
    assertTrue(c.compare(dn, "mail", "SDK@example.com").compareMatched());
    ModifyRequest asserted = new ModifyRequest(dn, new Modification(ModificationType.REPLACE, "sn", "No"));
    asserted.addControl(new AssertionRequestControl("(sn=Sdk)"));
    refused(ResultCode.ASSERTION_FAILED, () -> c.modify(asserted));
    c.modifyDN(dn, "uid=sdk.2", true, "ou=Strange," + BASE);
    assertNull(c.getEntry(dn));
    assertNotNull(c.getEntry("uid=sdk.2,ou=Strange," + BASE));
    DeleteRequest d = new DeleteRequest("uid=sdk.2,ou=Strange," + BASE);
    d.addControl(new PreReadRequestControl(true, "uid"));
    assertEquals("sdk.2", PreReadResponseControl.get(c.delete(d)).getEntry().getAttributeValue("uid"));
    refused(ResultCode.NO_SUCH_OBJECT, () -> c.delete("uid=sdk.2,ou=Strange," + BASE));
  }

  @Test
  void increment() throws Exception {
    c.add("dn: uid=sdk.3," + PEOPLE, "objectClass: inetOrgPerson", "objectClass: posixAccount", "uid: sdk.3", "cn: x", "sn: x", "uidNumber: 1", "gidNumber: 1", "homeDirectory: /x");
    c.modify("uid=sdk.3," + PEOPLE, new Modification(ModificationType.INCREMENT, "uidNumber", "41"));
    assertEquals(42, c.getEntry("uid=sdk.3," + PEOPLE).getAttributeValueAsInteger("uidNumber"));
    c.delete("uid=sdk.3," + PEOPLE);
  }

  @Test
  void subtreeDelete() throws Exception {
    c.add("dn: ou=Sdk," + BASE, "objectClass: organizationalUnit", "ou: Sdk");
    c.add("dn: ou=In,ou=Sdk," + BASE, "objectClass: organizationalUnit", "ou: In");
    refused(ResultCode.NOT_ALLOWED_ON_NONLEAF, () -> c.delete("ou=Sdk," + BASE));
    DeleteRequest d = new DeleteRequest("ou=Sdk," + BASE);
    d.addControl(new SubtreeDeleteRequestControl());
    assertEquals(ResultCode.SUCCESS, c.delete(d).getResultCode());
  }

  @Test
  void passwords() throws Exception {
    PasswordModifyExtendedResult r = (PasswordModifyExtendedResult) c.processExtendedOperation(new PasswordModifyExtendedRequest("uid=user.9," + PEOPLE, null, (String) null));
    assertEquals(ResultCode.SUCCESS, r.getResultCode());
    try (LDAPConnection u = new LDAPConnection("127.0.0.1", PORT, "uid=user.9," + PEOPLE, r.getGeneratedPassword())) {
      PasswordModifyExtendedResult own = (PasswordModifyExtendedResult) u.processExtendedOperation(new PasswordModifyExtendedRequest(r.getGeneratedPassword(), "chosen12"));
      assertEquals(ResultCode.SUCCESS, own.getResultCode());
      u.bind("uid=user.9," + PEOPLE, "chosen12");
    }
  }

  @Test
  void transportSecurity() throws Exception {
    SSLUtil trusting = new SSLUtil(new TrustAllTrustManager());
    try (LDAPConnection s = new LDAPConnection(trusting.createSSLSocketFactory(), "127.0.0.1", TLS_PORT, ROOT_DN, ROOT_PW)) {
      assertNotNull(s.getRootDSE());
    }
    try (LDAPConnection s = new LDAPConnection("127.0.0.1", PORT)) {
      assertEquals(ResultCode.SUCCESS, s.processExtendedOperation(new StartTLSExtendedRequest(trusting.createSSLContext())).getResultCode());
      s.bind(ROOT_DN, ROOT_PW);
    }
  }

  @Test
  void schemaIsValidAndComplete() throws Exception {
    Schema schema = c.getSchema();
    assertNotNull(schema.getAttributeType("cn"));
    assertTrue(schema.getObjectClasses().size() > 60);
    // This one throws for the first definition that it cannot read.
    assertNotNull(Schema.parseSchemaEntry(c.getEntry("cn=schema", "*", "+")));
    RootDSE dse = c.getRootDSE();
    assertTrue(dse.supportsExtendedOperation("1.3.6.1.4.1.4203.1.11.3"));
    assertArrayEquals(new String[] {BASE}, dse.getNamingContextDNs());
  }

  @Test
  void referralsAndManageDsaIt() throws Exception {
    SearchResult r = c.search("ou=Strange," + BASE, SearchScope.SUB, "(objectClass=referral)");
    assertEquals(0, r.getEntryCount());
    assertEquals(1, r.getReferenceCount());
    SearchRequest q = new SearchRequest("ou=Strange," + BASE, SearchScope.SUB, "(objectClass=referral)");
    q.addControl(new ManageDsaITRequestControl(true));
    assertEquals(1, c.search(q).getEntryCount());
  }

  @Test
  void asynchronousOperationsKeepTheirIds() throws Exception {
    List<AsyncRequestID> ids = new ArrayList<>();
    ConcurrentMap<AsyncRequestID, CompareResult> answers = new ConcurrentHashMap<>();
    CountDownLatch all = new CountDownLatch(100);
    for (int i = 0; i < 100; i++) {
      ids.add(c.asyncCompare(new CompareRequest("uid=user." + i % 20 + "," + PEOPLE, "uid", "user." + (i % 2 == 0 ? i % 20 : -1)), (id, result) -> {
        answers.put(id, result);
        all.countDown();
      }));
    }
    assertTrue(all.await(30, TimeUnit.SECONDS));
    for (int i = 0; i < 100; i++) {
      assertEquals(i % 2 == 0, answers.get(ids.get(i)).compareMatched());
    }
  }

  @Test
  void cancelOfAnUnknownOperation() throws Exception {
    AsyncRequestID done = c.asyncSearch(new SearchRequest(new Ignore(), BASE, SearchScope.BASE, "(objectClass=*)"));
    done.get(30, TimeUnit.SECONDS);
    ExtendedResult r = c.processExtendedOperation(new CancelExtendedRequest(done));
    assertTrue(r.getResultCode() == ResultCode.NO_SUCH_OPERATION || r.getResultCode() == ResultCode.TOO_LATE, r.toString());
  }

  static class Ignore implements AsyncSearchResultListener {
    public void searchEntryReturned(SearchResultEntry e) {}

    public void searchReferenceReturned(SearchResultReference r) {}

    public void searchResultReceived(AsyncRequestID id, SearchResult r) {}
  }

  @Test
  void unknownControlsAndOperations() throws Exception {
    SearchRequest q = new SearchRequest(BASE, SearchScope.BASE, "(objectClass=*)");
    q.addControl(new Control("1.2.3.4.5", true));
    refused(ResultCode.UNAVAILABLE_CRITICAL_EXTENSION, () -> c.search(q));
    refused(ResultCode.PROTOCOL_ERROR, () -> c.processExtendedOperation(new ExtendedRequest("1.2.3.4.5")));
  }
}
