#!/bin/sh
set -eu
python3 program.py
