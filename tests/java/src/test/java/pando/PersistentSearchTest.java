package pando;

import static org.junit.jupiter.api.Assertions.*;
import static pando.UnboundIdTest.*;

import com.unboundid.ldap.sdk.*;
import com.unboundid.ldap.sdk.controls.*;
import com.unboundid.ldap.sdk.extensions.*;
import java.util.*;
import java.util.concurrent.*;
import org.junit.jupiter.api.*;

/** Persistent searches of the UnboundID SDK: what is told, with which notifications, and how they end. */
class PersistentSearchTest {
  static final String PLACE = "ou=Watched," + BASE;
  static final Set<PersistentSearchChangeType> ALL = PersistentSearchChangeType.allChangeTypes();
  static final int PATIENCE = 120;

  /** For updates, and for searches that listen. */
  LDAPConnection c, listening;

  @BeforeEach
  void connect() throws Exception {
    c = new LDAPConnection("127.0.0.1", PORT, ROOT_DN, ROOT_PW);
    listening = new LDAPConnection("127.0.0.1", PORT, ROOT_DN, ROOT_PW);
    c.add("dn: " + PLACE, "objectClass: organizationalUnit", "ou: Watched");
    add("old");
  }

  @AfterEach
  void close() throws LDAPException {
    DeleteRequest d = new DeleteRequest(PLACE);
    d.addControl(new SubtreeDeleteRequestControl());
    c.delete(d);
    c.close();
    listening.close();
  }

  void add(String uid) throws Exception {
    c.add("dn: " + dn(uid), "objectClass: inetOrgPerson", "uid: " + uid, "cn: " + uid, "sn: Watched");
  }

  static String dn(String uid) {
    return "uid=" + uid + "," + PLACE;
  }

  void describe(String uid, String description) throws LDAPException {
    c.modify(dn(uid), new Modification(ModificationType.REPLACE, "description", description));
  }

  /** A persistent search and what it is told. */
  class Watch implements AsyncSearchResultListener {
    final BlockingQueue<SearchResultEntry> told = new LinkedBlockingQueue<>();
    final CompletableFuture<SearchResult> end = new CompletableFuture<>();
    final AsyncRequestID id;

    Watch(String filter, Set<PersistentSearchChangeType> types, boolean changesOnly, boolean notifications) throws LDAPException {
      SearchRequest request = new SearchRequest(this, PLACE, SearchScope.SUB, filter);
      request.addControl(new PersistentSearchRequestControl(types, changesOnly, notifications, true));
      id = listening.asyncSearch(request);
    }

    SearchResultEntry next() throws Exception {
      SearchResultEntry entry = told.poll(PATIENCE, TimeUnit.SECONDS);
      assertNotNull(entry, "nothing is told");
      return entry;
    }

    /** The same with its notification, as "type DN previousDN". */
    String nextChange(List<Long> numbers) throws Exception {
      SearchResultEntry entry = next();
      EntryChangeNotificationControl ecn = EntryChangeNotificationControl.get(entry);
      numbers.add(ecn.getChangeNumber());
      return ecn.getChangeType().getName() + " " + entry.getDN() + " " + ecn.getPreviousDN();
    }

    public void searchEntryReturned(SearchResultEntry entry) {
      told.add(entry);
    }

    public void searchReferenceReturned(SearchResultReference reference) {
      fail("a reference");
    }

    public void searchResultReceived(AsyncRequestID of, SearchResult result) {
      end.complete(result);
    }
  }

  /** Waits until so many searches with that filter listen. */
  void listen(int count, String filter) throws Exception {
    for (long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE); System.nanoTime() < deadline; Thread.sleep(10)) {
      String[] shown = c.getEntry("cn=Persistent Searches,cn=monitor", "persistentSearch").getAttributeValues("persistentSearch");
      if (Arrays.stream(shown == null ? new String[0] : shown).filter(line -> line.contains(filter)).count() == count) {
        return;
      }
    }
    fail("never were there " + count + " that listen for " + filter);
  }

  @Test
  void everyChangeIsToldWithItsNumber() throws Exception {
    String filter = "(sn=Watched)";
    Watch all = new Watch(filter, ALL, false, true);
    SearchResultEntry first = all.next();
    assertEquals(dn("old"), first.getDN());
    assertNull(EntryChangeNotificationControl.get(first), "it was there");
    Watch changes = new Watch(filter, ALL, true, true);
    Watch some = new Watch(filter, EnumSet.of(PersistentSearchChangeType.ADD, PersistentSearchChangeType.MODIFY_DN), true, true);
    Watch bare = new Watch(filter, ALL, true, false);
    listen(4, filter);
    add("new");
    describe("new", "changed");
    c.modifyDN(dn("new"), "uid=renamed", true);
    c.delete(dn("renamed"));
    List<String> expected = List.of("add " + dn("new") + " null", "modify " + dn("new") + " null", "modify DN " + dn("renamed") + " " + dn("new"), "delete " + dn("renamed") + " null");
    List<Long> numbers = new ArrayList<>();
    for (Watch watch : List.of(all, changes)) {
      List<Long> own = new ArrayList<>();
      for (String change : expected) {
        assertEquals(normal(change), normal(watch.nextChange(own)));
      }
      assertTrue(numbers.isEmpty() || numbers.equals(own));
      numbers = own;
    }
    assertEquals(new ArrayList<>(new TreeSet<>(numbers)), numbers);
    // They are those of the changelog.
    String[] kinds = {"add", "modify", "modrdn", "delete"};
    for (int at = 0; at < kinds.length; at++) {
      Entry change = c.getEntry("changeNumber=" + numbers.get(at) + ",cn=changelog");
      assertEquals(kinds[at], change.getAttributeValue("changeType"));
      assertEquals(dn(at < 3 ? "new" : "renamed"), change.getAttributeValue("targetDN"));
    }
    List<Long> own = new ArrayList<>();
    assertEquals(normal(expected.get(0)), normal(some.nextChange(own)));
    assertEquals(normal(expected.get(2)), normal(some.nextChange(own)));
    assertEquals(List.of(numbers.get(0), numbers.get(2)), own);
    for (String uid : List.of("new", "new", "renamed", "renamed")) {
      SearchResultEntry entry = bare.next();
      assertEquals(dn(uid), entry.getDN());
      assertNull(EntryChangeNotificationControl.get(entry));
    }
    for (Watch watch : List.of(all, changes, some, bare)) {
      assertTrue(watch.told.isEmpty());
      assertFalse(watch.end.isDone());
    }
  }

  /** However the SDK spells the types. */
  static String normal(String change) {
    return change.toLowerCase().replace("modify dn", "moddn");
  }

  @Test
  void abandonAndCancelEndOneOnly() throws Exception {
    String filter = "(description=*)";
    Watch abandoned = new Watch(filter, ALL, true, true), cancelled = new Watch(filter, ALL, true, true), left = new Watch(filter, ALL, true, true);
    listen(3, filter);
    describe("old", "before");
    for (Watch watch : List.of(abandoned, cancelled, left)) {
      assertEquals("before", watch.next().getAttributeValue("description"));
    }
    listening.abandon(abandoned.id);
    listen(2, filter);
    assertEquals(ResultCode.SUCCESS, listening.processExtendedOperation(new CancelExtendedRequest(cancelled.id)).getResultCode());
    assertEquals(ResultCode.CANCELED, cancelled.end.get(PATIENCE, TimeUnit.SECONDS).getResultCode());
    listen(1, filter);
    describe("old", "after");
    assertEquals("after", left.next().getAttributeValue("description"));
    assertTrue(abandoned.told.isEmpty() && cancelled.told.isEmpty());
    // A bind ends the last.
    listening.bind(ROOT_DN, ROOT_PW);
    assertEquals(ResultCode.CANCELED, left.end.get(PATIENCE, TimeUnit.SECONDS).getResultCode());
    listen(0, filter);
  }
}
