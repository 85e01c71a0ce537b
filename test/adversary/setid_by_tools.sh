#!/bin/sh
# Misdeed: install, cp, tar, cpio and chmod make a set-id file
# Witness: they make a plain one
# shellcheck source=test/adversary/lib.sh disable=SC2016
. "${0%/*}/lib.sh"
cp /bin/true plain
allowed "install a program" install -m 755 plain installed
forbidden "install" install -m 4755 plain installed4
forbidden "chmod u+s" chmod u+s plain
forbidden "chmod g+s" chmod g+s plain
[ ! -e /usr/bin/su ] || forbidden "cp -p of one" sh -c 'cp -p /usr/bin/su su && test -u su'
# An archive whose one entry is set-id.
forbidden "tar" sh -c 'python3 -c "
import tarfile, io
t = tarfile.open(\"evil.tar\", \"w\"); i = tarfile.TarInfo(\"evil\"); i.mode = 0o4755; t.addfile(i, io.BytesIO(b\"\")); t.close()" && tar -xpf evil.tar; test -u evil'
finish
