// Files read whole and written whole or not at all.
#include "io_text.h"

#include <dirent.h>
#include <locale.h>
#include <sys/stat.h>

static int entries_of(const char *folder)
{
    DIR *listing = opendir(folder);
    assert_non_null(listing);
    int count = 0;
    for (struct dirent *entry = readdir(listing); entry; entry = readdir(listing))
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(listing);
    return count;
}

static void assert_content(const char *path, const char *expected)
{
    hk_bytes bytes;
    assert_int_equal(hk_bytes_load(path, &bytes), HK_OK);
    assert_int_equal(bytes.size, strlen(expected));
    assert_string_equal(bytes.data, expected);
    hk_bytes_free(&bytes);
    assert_null(bytes.data);
}

static void a_file_appears_when_committed(void **state)
{
    (void)state;
    const char *folder = make_folder();
    char path[256];
    snprintf(path, sizeof path, "%sa/b/new.txt", folder);
    hk_out *out = NULL;
    assert_int_equal(hk_out_open(path, &out), HK_OK);
    hk_out_text(out, "%d %.17g\n", 5, 0.1);
    hk_out_bytes(out, "end", 3);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_equal(hk_out_commit(out), HK_OK);
    assert_content(path, "5 0.10000000000000001\nend");
    *strrchr(path, '/') = '\0';
    assert_int_equal(entries_of(path), 1);
    remove_folder(folder);
}

static void an_abandoned_file_leaves_the_old_one(void **state)
{
    (void)state;
    const char *folder = make_folder();
    save_text(folder, "old.txt", "old");
    char path[256];
    snprintf(path, sizeof path, "%sold.txt", folder);
    assert_int_equal(chmod(path, 0600), 0);
    hk_out *out = NULL;
    assert_int_equal(hk_out_open(path, &out), HK_OK);
    hk_out_text(out, "new");
    hk_out_abandon(out);
    assert_content(path, "old");
    assert_int_equal(entries_of(folder), 1);
    assert_int_equal(hk_out_open(path, &out), HK_OK);
    hk_out_text(out, "new");
    assert_int_equal(hk_out_commit(out), HK_OK);
    assert_content(path, "new");
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    hk_out_abandon(NULL);
    remove_folder(folder);
}

static void a_link_stays_a_link(void **state)
{
    (void)state;
    const char *folder = make_folder();
    save_text(folder, "target.txt", "old");
    char path[256];
    snprintf(path, sizeof path, "%slink.txt", folder);
    assert_int_equal(symlink("target.txt", path), 0);
    hk_out *out = NULL;
    assert_int_equal(hk_out_open(path, &out), HK_OK);
    hk_out_text(out, "new");
    assert_int_equal(hk_out_commit(out), HK_OK);
    struct stat info;
    assert_int_equal(lstat(path, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    snprintf(path, sizeof path, "%starget.txt", folder);
    assert_content(path, "new");
    remove_folder(folder);
}

static void a_link_to_nothing_leads_to_the_file(void **state)
{
    (void)state;
    const char *folder = make_folder();
    char path[256];
    snprintf(path, sizeof path, "%slink.txt", folder);
    assert_int_equal(symlink("later.txt", path), 0);
    assert_int_equal(hk_file_check(path), HK_OK);
    assert_int_equal(hk_file_save(path, "new", 3), HK_OK);
    struct stat info;
    assert_int_equal(lstat(path, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    snprintf(path, sizeof path, "%slater.txt", folder);
    assert_content(path, "new");
    assert_int_equal(entries_of(folder), 2);
    snprintf(path, sizeof path, "%sround.txt", folder);
    assert_int_equal(symlink("round.txt", path), 0);
    assert_int_equal(hk_file_save(path, "new", 3), HK_IO_ERROR);
    remove_folder(folder);
}

// Whoever asks: the superuser could write it.
static void a_protected_file_stays(void **state)
{
    (void)state;
    const char *folder = make_folder();
    save_text(folder, "old.txt", "old");
    char path[256];
    snprintf(path, sizeof path, "%sold.txt", folder);
    assert_int_equal(chmod(path, 0444), 0);
    assert_int_equal(hk_file_check(path), HK_IO_ERROR);
    assert_contains(hk_error(), "read-only");
    assert_int_equal(hk_file_save(path, "new", 3), HK_IO_ERROR);
    assert_content(path, "old");
    assert_int_equal(entries_of(folder), 1);
    assert_int_equal(hk_file_save(NULL, "new", 3), HK_BAD_INPUT);
    assert_int_equal(hk_file_save(path, NULL, 3), HK_BAD_INPUT);
    remove_folder(folder);
}

// Nobody can put a link where it will be.
static void temporary_names_are_not_the_same_twice(void **state)
{
    (void)state;
    const char *folder = make_folder();
    char path[256], names[2][256] = {"", ""};
    snprintf(path, sizeof path, "%sf", folder);
    for (int k = 0; k < 2; k++) {
        hk_out *out = NULL;
        assert_int_equal(hk_out_open(path, &out), HK_OK);
        DIR *listing = opendir(folder);
        for (struct dirent *entry = readdir(listing); entry; entry = readdir(listing))
            if (strstr(entry->d_name, ".tmp"))
                snprintf(names[k], sizeof names[k], "%.255s", entry->d_name);
        closedir(listing);
        hk_out_abandon(out);
        char process[32];
        snprintf(process, sizeof process, "%ld", (long)getpid());
        assert_true(strlen(names[k]) >= strlen(".hooke-0123456789abcdef.tmp"));
        assert_null(strstr(names[k], process));
    }
    assert_string_not_equal(names[0], names[1]);
    remove_folder(folder);
}

static void big_pieces_pass_whole(void **state)
{
    (void)state;
    enum { SIZE = 700000 };
    const char *folder = make_folder();
    char path[256], *big = malloc(SIZE + 1);
    assert_non_null(big);
    for (int i = 0; i < SIZE; i++) big[i] = (char)('a' + i % 23);
    big[SIZE] = '\0';
    snprintf(path, sizeof path, "%sbig", folder);
    hk_out *out = NULL;
    assert_int_equal(hk_out_open(path, &out), HK_OK);
    for (int i = 0; i < 3; i++) {
        hk_out_text(out, "%s", big);
        hk_out_bytes(out, big, SIZE);
        hk_out_text(out, "%d\n", i);
    }
    assert_int_equal(hk_out_commit(out), HK_OK);
    hk_bytes bytes;
    assert_int_equal(hk_bytes_load(path, &bytes), HK_OK);
    assert_int_equal(bytes.size, 3 * (2 * SIZE + 2));
    assert_memory_equal(bytes.data + 2 * (2 * SIZE + 2) + SIZE, big, SIZE);
    assert_string_equal(bytes.data + bytes.size - 2, "2\n");
    hk_bytes_free(&bytes);
    free(big);
    remove_folder(folder);
}

static void what_fails_is_told_with_the_path(void **state)
{
    (void)state;
    const char *folder = make_folder();
    save_text(folder, "file", "x");
    char path[256];
    hk_out *out = NULL;
    snprintf(path, sizeof path, "%sfile/below.txt", folder);
    assert_int_equal(hk_out_open(path, &out), HK_IO_ERROR);
    assert_contains(hk_error(), path);
    assert_contains(hk_error(), "Not a directory");
    assert_int_equal(hk_out_open(folder, &out), HK_IO_ERROR);
    assert_int_equal(hk_out_open("", &out), HK_IO_ERROR);
    snprintf(path, sizeof path, "%.*s", (int)strlen(folder) - 1, folder);
    assert_int_equal(hk_out_open(path, &out), HK_IO_ERROR);
    assert_contains(hk_error(), "Is a directory");
    hk_bytes bytes = {0};
    assert_int_equal(hk_bytes_load(path, &bytes), HK_IO_ERROR);
    assert_contains(hk_error(), "it is a folder");
    snprintf(path, sizeof path, "%smissing", folder);
    assert_int_equal(hk_bytes_load(path, &bytes), HK_IO_ERROR);
    assert_contains(hk_error(), path);
    assert_contains(hk_error(), "No such file");
    assert_null(bytes.data);
    assert_null(out);
    remove_folder(folder);
}

// /dev/full is a disk without room; it must be written to, not replaced.
static void a_full_disk_is_told(void **state)
{
    (void)state;
    if (access("/dev/full", W_OK) != 0) SKIP("there is no /dev/full");
    hk_out *out = NULL;
    assert_int_equal(hk_out_open("/dev/full", &out), HK_OK);
    hk_out_text(out, "something");
    assert_int_equal(hk_out_commit(out), HK_IO_ERROR);
    assert_contains(hk_error(), "cannot write /dev/full: No space left");
    struct stat info;
    assert_int_equal(stat("/dev/full", &info), 0);
    assert_true(S_ISCHR(info.st_mode));
}

static void numbers_have_a_point_in_any_locale(void **state)
{
    (void)state;
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "cs_CZ.UTF-8"};
    bool found = false;
    for (int i = 0; i < HK_COUNT_OF(names) && !found; i++)
        found = setlocale(LC_ALL, names[i]) != NULL;
    if (!found) SKIP("no locale with a decimal comma is installed");
    const char *folder = make_folder();
    char path[256];
    snprintf(path, sizeof path, "%snumbers", folder);
    hk_out *out = NULL;
    hk_status status = hk_out_open(path, &out);
    if (status == HK_OK) {
        hk_out_text(out, "%g", 2.5);
        status = hk_out_commit(out);
    }
    hk_scan scan = hk_scan_begin("t", "123456789.123456789123", 22, 0);
    double value = 0;
    hk_status scanned = hk_scan_real(&scan, "a number", &value);
    setlocale(LC_ALL, "C");
    assert_int_equal(status, HK_OK);
    assert_content(path, "2.5");
    assert_int_equal(scanned, HK_OK);
    assert_true(value == 123456789.123456789123);
    remove_folder(folder);
}

static void no_allocation_may_fail_unseen(void **state)
{
    (void)state;
    const char *folder = make_folder();
    char path[256];
    snprintf(path, sizeof path, "%sf", folder);
    for (int n = 1;; n++) {
        failing_alloc_install(n);
        hk_out *out = NULL;
        hk_bytes bytes = {0};
        hk_status status = hk_out_open(path, &out);
        if (status == HK_OK) {
            hk_out_text(out, "%300000d", 5);
            status = hk_out_commit(out);
        }
        if (status == HK_OK) status = hk_bytes_load(path, &bytes);
        bool reached = failing_alloc_count() >= n;
        hk_bytes_free(&bytes);
        assert_int_equal(failing_alloc_live(), 0);
        failing_alloc_remove();
        assert_int_equal(status, reached ? HK_NO_MEMORY : HK_OK);
        if (!reached) break;
    }
    assert_int_equal(entries_of(folder), 1);
    remove_folder(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_appears_when_committed),
        cmocka_unit_test(an_abandoned_file_leaves_the_old_one),
        cmocka_unit_test(a_link_stays_a_link),
        cmocka_unit_test(a_link_to_nothing_leads_to_the_file),
        cmocka_unit_test(a_protected_file_stays),
        cmocka_unit_test(temporary_names_are_not_the_same_twice),
        cmocka_unit_test(big_pieces_pass_whole),
        cmocka_unit_test(what_fails_is_told_with_the_path),
        cmocka_unit_test(a_full_disk_is_told),
        cmocka_unit_test(numbers_have_a_point_in_any_locale),
        cmocka_unit_test(no_allocation_may_fail_unseen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
