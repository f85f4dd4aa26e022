// SPDX-License-Identifier: GPL-2.0-only
/*
 * Control groups (v2): one of its own for each run, so that its counters begin at
 * zero and nothing but the reader is in them.
 */
#include "effect.h"

void group_make(char *path, size_t size, const char *parent, int run)
{
	snprintf(path, size, "%s/%s", parent, run == MARS ? "mars" : "native");
	rmdir(path);	/* of a test that failed */
	if (mkdir(path, 0755))
		die("mkdir %s: %s", path, strerror(errno));
}

/* Empty, but the exit of its last process may not have come to its end yet. */
void group_remove(const char *path)
{
	for (int i = 0; rmdir(path); i++) {
		if (errno != EBUSY || i == 1000)
			die("rmdir %s: %s", path, strerror(errno));
		usleep(10000);
	}
}

/* False, and errno, if the file does not take the text. */
bool group_try(const char *group, const char *file, const char *text)
{
	char path[512];
	int fd, error;
	bool ok;

	snprintf(path, sizeof(path), "%s/%s", group, file);
	fd = xopen(path, O_WRONLY);
	ok = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	error = errno;
	close(fd);
	errno = error;
	return ok;
}

void group_put(const char *group, const char *file, const char *text)
{
	if (!group_try(group, file, text))
		die("%s/%s does not take '%s': %s", group, file, text, strerror(errno));
}

/*
 * The number behind @key ("total=", "rbytes=", or the line's own name and a blank) in
 * the line that begins with @line. 0 when there is no such line: io.stat has none for
 * a disk that the group has not used.
 */
uint64_t group_get(const char *group, const char *file, const char *line, const char *key)
{
	char path[512], text[16384], *at, *end;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", group, file);
	fd = xopen(path, O_RDONLY);
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n < 0)
		die("%s: %s", path, strerror(errno));
	text[n] = 0;
	for (at = strtok_r(text, "\n", &end); at; at = strtok_r(NULL, "\n", &end)) {
		if (strncmp(at, line, strlen(line)))
			continue;
		at = strstr(at, key);
		if (!at)
			die("%s: the line '%s' has no '%s'", path, line, key);
		return strtoull(at + strlen(key), NULL, 10);
	}
	return 0;
}
