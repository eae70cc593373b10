import RealmSync
import Testing

@Suite struct EntryFormsTests {
    private let file = ClientFile(number: 7, salt: 70, user: "ann", clientVersion: 5)
    private let entries = (3...6).map {
        HistoryEntry(version: $0, salt: $0 * 10, file: 1, clientVersion: 0, originTime: 0, bytes: [])
    }

    @Test func `forms are known for the entries after their base`() {
        let forms = EntryForms(of: file, after: 2, [4: [44], 6: [66]], entries)
        #expect(forms.forms(of: entries, after: 2, for: file) == [4: [44], 6: [66]])
        #expect(forms.forms(of: Array(entries[2...]), after: 4, for: file) == [6: [66]])
        #expect(forms.forms(of: entries, after: 1, for: file) == nil)
    }

    @Test func `forms count only for the state of the client's file from which they are`() {
        let forms = EntryForms(of: file, after: 2, [4: [44]], entries)
        var newer = file
        newer.clientVersion = 6
        #expect(forms.forms(of: entries, after: 2, for: newer) == nil)
        let other = ClientFile(number: 7, salt: 71, user: "ann", clientVersion: 5)
        #expect(forms.forms(of: entries, after: 2, for: other) == nil)
    }

    @Test func `another entry under the same version has no form`() {
        let forms = EntryForms(of: file, after: 2, [4: [44]], entries)
        var restored = entries
        restored[1].salt = 41
        #expect(forms.forms(of: restored, after: 2, for: file) == [:])
    }
}
