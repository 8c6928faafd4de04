/* SPDX-License-Identifier: MIT
 *
 * The one place where the version is written. meson.build reads both numbers out of this file: the release
 * version names the package, the ABI version becomes the soname. They move independently: a release that only
 * adds functions keeps the ABI number.
 */
#ifndef LIBLOCK_VERSION_H
#define LIBLOCK_VERSION_H

#define LIBLOCK_VERSION_MAJOR 0
#define LIBLOCK_VERSION_MINOR 1
#define LIBLOCK_VERSION_PATCH 0

/* Raised whenever a program built against an older header could misbehave with this library. */
#define LIBLOCK_ABI_VERSION 0

/* major * 1,000,000 + minor * 1,000 + patch */
#define LIBLOCK_VERSION_NUMBER \
  (LIBLOCK_VERSION_MAJOR * 1000000 + LIBLOCK_VERSION_MINOR * 1000 + LIBLOCK_VERSION_PATCH)

#endif
